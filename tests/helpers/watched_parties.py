"""A party whose process writes down every frame that it sends, before TLS encrypts it."""

import base64
import json
import sys
import threading
from pathlib import Path

from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
from nvflare.fuel.f3.sfm.sfm_conn import SfmConnection

import recording_parties

FRAMES = "frames.jsonl"
open_party = recording_parties.open_party
_one_at_a_time = threading.Lock()


def _watched(self, prefix, headers, payload, send=SfmConnection.send_frame):
    about = headers or {}
    frame = {
        "kind": prefix.type,
        "about": [
            str(about.get(key)) for key in (MessageHeaderKey.CHANNEL, MessageHeaderKey.TOPIC)
        ],
        "headers": sorted(about),
        "payload": base64.b64encode(bytes(payload or b"")).decode(),
    }
    with _one_at_a_time, open(Path(sys.argv[-1]) / FRAMES, "a") as file:
        file.write(json.dumps(frame) + "\n")
    send(self, prefix, headers, payload)


SfmConnection.send_frame = _watched


def frames(folder):
    """What the party of a kit has sent: a list of kind, channel and topic, and payload."""
    lines = map(json.loads, (folder / FRAMES).read_text().splitlines())
    return [(one["kind"], *one["about"], base64.b64decode(one["payload"])) for one in lines]
