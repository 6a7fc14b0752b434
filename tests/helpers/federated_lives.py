"""One party after another on the same release log: closed, or killed in a process of its own."""

import contextlib
import multiprocessing

from dplasso.federated import Party
from dplasso.federated.messages import Ask
from dplasso.federated.release_log import ReleaseLog
from federations import SECRET, agreed, ask, made

TERMS = agreed({"bank": 6}, rounds=5)
DATA = made(features={"bank": 6})
END = TERMS.rounds + 1


def bank(folder, **options):
    """A party that is alone in its federation."""
    rows = DATA.blocks["bank"], DATA.identifiers["bank"]
    return Party(TERMS, "bank", *rows, SECRET, y=DATA.y, folder=folder, **options)


def ask_bank(at):
    """A request for the labels in round 0, and for a feature in others."""
    return ask(TERMS, "bank", at, Ask.SELECT if at else Ask.LABELS)


@contextlib.contextmanager
def living(folder, **options):
    """A party that is closed in the end."""
    party = bank(folder, **options)
    try:
        yield party
    finally:
        party.close()


def rounds_on_disk(folder):
    """The rounds of the releases in the log."""
    with contextlib.closing(ReleaseLog(TERMS, "bank", folder)) as log:
        return [release.round for release in log.releases()]


def serve(open_party, connection):
    party = open_party()
    while True:
        connection.send_bytes(party.answer(connection.recv_bytes()))


class Life:
    """A party in a process of its own, which opens it."""

    def __init__(self, open_party):
        context = multiprocessing.get_context("fork")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(open_party, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, request, patience):
        """The answer, if it comes within ``patience``; after that the process gets SIGKILL."""
        with contextlib.suppress(BrokenPipeError):
            self._ours.send_bytes(request)
        if patience is not None and not self._ours.poll(patience):
            self.kill()
        try:
            return self._ours.recv_bytes()
        except (EOFError, OSError):
            return None

    def kill(self):
        self._process.kill()
        self._process.join()

    def close(self):
        self.kill()
        self._ours.close()
