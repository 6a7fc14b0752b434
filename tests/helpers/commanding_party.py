"""A malicious party of `drawing_parties`: it commands another party as if it were the server.

The transport passes messages from party to party. Whatever this party sees or can make, it sends: a
request of its own with everything that came with a request of the server, the server's request to
itself, and a request under its own key.
"""

import json

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from nvflare.fuel.f3.cellnet.registry import Callback
from nvflare.private.defs import CellMessageHeaderKeys, new_cell_message

from dplasso.federated.deployment.party_agent import PartyAgent
from dplasso.federated.deployment.replies import CHANNEL, TOPIC, Reply
from dplasso.federated.framing import framed, unframed
from dplasso.federated.requests import signed
from drawing_parties import Party, sealed

VICTIM = "clinic"
ATTACKS_IN = 2  # this round
_seen = []  # the messages that came to this process


def _watched(self, message, receive=PartyAgent._receive):
    _seen.append(message)
    return receive(self, message)


PartyAgent._receive = _watched


class CommandingParty(Party):
    """Answers as it should, and in one round commands the victim; it keeps the replies."""

    def answer(self, request):
        answer = super().answer(request)
        path = self._path.with_name("replies")
        if len(self._drawn) == ATTACKS_IN + 1 and not path.exists():
            path.write_text(json.dumps({name: self._sent(*one) for name, one in self._attacks()}))
        return answer

    def _attacks(self):
        message = _seen[-1]
        keys = CellMessageHeaderKeys
        names = (keys.CLIENT_NAME, keys.TOKEN, keys.TOKEN_SIGNATURE)
        headers, request = {key: message.get_header(key) for key in names}, bytes(message.payload)
        ahead = sealed({"job": self._job, "round": ATTACKS_IN + 1, "epsilon": 0.5})
        job, _, number, _, signature = unframed(request)
        startup = self._holdings.state.parent / "startup"
        own = load_pem_private_key((startup / "client.key").read_bytes(), None)
        after = int.from_bytes(number, "little") + 1
        yield "with the server's headers", (headers, ahead)
        yield "the server's request to itself", (headers, request)
        yield "the server's signature", (headers, framed(job, b"clinic", number, ahead, signature))
        yield "its own signature", (headers, signed(own, self._job, VICTIM, after, ahead))

    def _sent(self, headers, payload):
        cell = PartyAgent.running._client.cell
        # Its own transport would replace the headers of the server by those of this party.
        filters = cell.core_cell.out_req_filter_reg.reg
        usual, filters["*:*"] = filters["*:*"], [Callback(_with, (headers,), {})]
        try:
            reply = cell.send_request(
                channel=CHANNEL,
                topic=TOPIC,
                target=VICTIM,
                request=new_cell_message({}, payload),
                timeout=10.0,
            )
        finally:
            filters["*:*"] = usual
        read = Reply.read(reply.payload)
        return [read.mark.name, read.body.decode(errors="replace")[:200]]


def _with(message, headers):
    for key, value in headers.items():
        message.set_header(key, value)


def open_party(holdings, job):
    return CommandingParty(holdings, job)
