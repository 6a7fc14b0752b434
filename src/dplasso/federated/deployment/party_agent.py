"""The party's side of all its jobs: one process that answers their requests."""

import contextlib
import re
import threading
import traceback
from pathlib import Path
from typing import Any, ClassVar

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_context import FLContext
from nvflare.fuel.f3.cellnet.core_cell import make_reply
from nvflare.fuel.f3.cellnet.defs import ReturnCode
from nvflare.fuel.f3.message import Message

from dplasso.base.terminal import printable
from dplasso.federated.deployment.kits import open_kit
from dplasso.federated.deployment.replies import CHANNEL, TOPIC, Mark, Reply
from dplasso.federated.deployment.settings import read_party_settings
from dplasso.federated.errors import Refused
from dplasso.federated.requests import RequestGate
from dplasso.federated.roles import Answers

_JOB = re.compile("[A-Za-z0-9-]{1,64}")  # it becomes the name of a folder
_TURN = 4.0  # seconds a request waits for the one before it


class PartyAgent(FLComponent):
    """Answers the requests that the server has signed for this party, one at a time.

    Every release is on disk before it leaves, so that this process may be killed at any moment: the
    same request comes again, and gets the same answer.
    """

    running: ClassVar["PartyAgent | None"] = None  # NVFlare creates the one of this process

    def __init__(self, kit: str, data: str) -> None:
        super().__init__()
        opened = open_kit(Path(kit), "party")
        self._settings, self._open = read_party_settings(opened.folder, opened.name, Path(data))
        self._gate = RequestGate(opened.name)
        self._parties: dict[str, Answers] = {}
        self._turn = threading.Lock()
        self._client: Any = None
        PartyAgent.running = self

    @classmethod
    def disconnect(cls) -> None:
        """Tell the server that this process ends; otherwise it would notice only later."""
        if cls.running is not None and cls.running._client is not None:
            cls.running._client.close()

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        if event_type == EventType.SYSTEM_START:
            engine = fl_ctx.get_engine()
            self._client = engine.client
            engine.get_cell().register_request_cb(channel=CHANNEL, topic=TOPIC, cb=self._receive)

    def _receive(self, message: Message) -> Message:
        if not self._turn.acquire(timeout=_TURN):
            reply = Reply(Mark.BUSY, b"")
        else:
            try:
                reply = self._reply(bytes(message.payload))
            finally:
                self._turn.release()
        return make_reply(ReturnCode.OK, "", reply.written)

    def _reply(self, content: bytes) -> Reply:
        job = "unknown"
        try:
            # The transport has verified the server's certificate, and keeps its key.
            key = self._client.communicator.token_verifier.public_key
            job, request = self._gate.admitted(content, key)
            if not _JOB.fullmatch(job):
                raise Refused("the name of the job is not valid")
            if job not in self._parties:
                self._parties[job] = self._open(self._settings, job)
            return Reply(Mark.ANSWERED, self._parties[job].answer(request))
        except Refused as refusal:
            self.logger.warning(f"refused a request of job {job}: {printable(str(refusal))}")
            return Reply(Mark.REFUSED, str(refusal).encode())
        except Exception as error:
            # An unforeseen error's message could show rows: only its type and place are logged.
            # The party is opened again, from disk, at the next request.
            with contextlib.suppress(Exception):
                if job in self._parties:
                    self._parties.pop(job).close()
            places = "".join(traceback.format_tb(error.__traceback__))
            self.logger.error(f"job {job} failed here with {type(error).__name__}:\n{places}")
            return Reply(Mark.FAILED, b"")
