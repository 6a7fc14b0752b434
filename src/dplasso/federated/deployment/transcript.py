"""What a job has asked and was told, on the disk: a server started again goes on from it."""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from dplasso.federated.deployment.wire import Reply
from dplasso.storage.journal import Journal


class Transcript:
    """Replies, exchange by exchange, each with a digest of the requests it belongs to.

    A coordinator asks what follows from its terms and from what it was told. So a new one that is
    told the same is where the old one was, and no party is asked anything again.

    >>> import tempfile
    >>> from dplasso.federated.deployment.wire import Mark
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "transcript"
    ...     with Transcript(path) as transcript:
    ...         transcript.add({"a": b"draw"}, {"a": Reply(Mark.ANSWERED, b"7")})
    ...     with Transcript(path) as transcript:
    ...         [transcript.again({"a": b"draw"}), transcript.again({"a": b"once more"})]
    [{'a': Reply(mark=<Mark.ANSWERED: b'+'>, body=b'7')}, None]
    """

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self._past = self._journal.records()

    def again(self, requests: Mapping[str, bytes]) -> dict[str, Reply] | None:
        """What these requests were replied to before; None once there is nothing more of before."""
        record = next(self._past, None)
        if record is None:
            return None
        told = json.loads(record)
        if told["asked"] != _digest(requests):
            raise ValueError(
                "the job asks something else than before the server was stopped, so that it cannot "
                "go on; was dplasso changed in between?"
            )
        replies = told["replies"].items()
        return {party: Reply.read(base64.b64decode(reply)) for party, reply in replies}

    def add(self, requests: Mapping[str, bytes], replies: Mapping[str, Reply]) -> None:
        """Keep an exchange; it is on the disk when this returns."""
        told = {party: base64.b64encode(r.written).decode() for party, r in replies.items()}
        record = {"asked": _digest(requests), "replies": told}
        self._journal.append(json.dumps(record).encode())

    def close(self) -> None:
        self._journal.close()

    def __enter__(self) -> "Transcript":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _digest(requests: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for party, request in sorted(requests.items()):
        for part in (party.encode(), request):
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()
