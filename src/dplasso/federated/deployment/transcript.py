"""The requests and replies of a job on disk, from which a restarted server continues."""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from dplasso.federated.deployment.replies import Reply
from dplasso.storage.journal import Journal


class Transcript:
    """The replies of every exchange, each with a digest of its requests.

    The requests of a coordinator follow from its terms and the answers it received. So a new one
    that receives the same answers is where the old one was, and no party is asked again.

    >>> import tempfile
    >>> from dplasso.federated.deployment.replies import Mark
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "transcript"
    ...     with Transcript(path) as transcript:
    ...         transcript.add({"a": b"draw"}, {"a": Reply(Mark.ANSWERED, b"7")})
    ...     with Transcript(path) as transcript:
    ...         [transcript.replies_to({"a": b"draw"}), transcript.replies_to({"a": b"once more"})]
    [{'a': Reply(mark=<Mark.ANSWERED: b'+'>, body=b'7')}, None]
    """

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self._past = self._journal.records()

    def replies_to(self, requests: Mapping[str, bytes]) -> dict[str, Reply] | None:
        """Return the recorded replies to these requests; None after the last recorded exchange."""
        record = next(self._past, None)
        if record is None:
            return None
        exchange = json.loads(record)
        if exchange["asked"] != _digest(requests):
            raise ValueError(
                "the requests of this job differ from those before the server was stopped, so that "
                "it cannot continue; start the server with the version of dplasso that began it"
            )
        replies = exchange["replies"].items()
        return {party: Reply.read(base64.b64decode(reply)) for party, reply in replies}

    def add(self, requests: Mapping[str, bytes], replies: Mapping[str, Reply]) -> None:
        """Keep an exchange; it is on disk when this returns."""
        written = {party: base64.b64encode(r.written).decode() for party, r in replies.items()}
        record = {"asked": _digest(requests), "replies": written}
        self._journal.append(json.dumps(record).encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()


def _digest(requests: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for party, request in sorted(requests.items()):
        for part in (party.encode(), request):
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()
