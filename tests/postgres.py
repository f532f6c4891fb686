"""A PostgreSQL server of the tests' own, from the system's package: on a unix socket, in a folder of its own."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sites import HANGS

PLACES = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")
NEEDED = ("initdb", "postgres", "pg_isready")
MEMORY = Path("/dev/shm")
PORTS = range(10_000, 32_000)  # below those that Linux, macOS and Windows give away
ROOM = 2**30  # octets that memory must have for a server to lie there
# What `make sanitize` loads into each process hangs those of PostgreSQL.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
QUICK = ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")  # nobody cuts the power here


def programs() -> Path | None:
    """The folder of initdb and postgres; the newest version's."""
    folders = [path for place in PLACES for path in Path("/").glob(place[1:])]
    folders.sort(key=lambda path: [int(part) for part in path.parts if part.isdigit()], reverse=True)
    found = shutil.which("initdb")
    folders += [Path(found).resolve().parent] if found else []
    return next((path for path in folders if all((path / each).exists() for each in NEEDED)), None)


def free_port() -> int:
    """A port that nobody listens on, and that the system gives to nobody who asks for any: a server takes it later, and
    again when it comes back.
    """
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as taken, suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port


class Server:
    """A database server in a folder. Its user is `comity`, its database `postgres`, and nobody is asked for a password.

    Attributes:
        socket: the folder of its unix socket.
        port: on which it listens, on loopback too.
    """

    def __init__(self, folder: Path, bin_: Path, options: Sequence[str] = QUICK) -> None:
        self.socket = folder
        self.port = free_port()
        self._data = folder / "data"
        self._bin = bin_
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._as_user: list[str] = []
        if os.name == "posix" and os.geteuid() == 0:  # which PostgreSQL refuses
            shutil.chown(folder, "postgres")
            self._as_user = [
                "setpriv",
                "--reuid=postgres",
                "--regid=postgres",
                "--clear-groups",
                "--pdeathsig=INT",
                "--",
            ]
        folder.chmod(0o755)
        words = ["--username=comity", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"]
        words += ["-D", str(self._data)]
        command = [*self._as_user, str(bin_ / "initdb"), *words]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, env=ENVIRONMENT)

    def url(self, crawl: str, *, port: int | None = None) -> str:
        """The address of a crawl; by the unix socket where no port is said."""
        if port is not None:
            return f"postgresql://comity@127.0.0.1:{port}/postgres?crawl={crawl}"
        return f"postgresql://comity@/postgres?host={self.socket}&port={self.port}&crawl={crawl}"

    def start(self) -> None:
        words = ["-D", str(self._data), "-k", str(self.socket), "-h", "127.0.0.1", "-p", str(self.port)]
        log = (self.socket / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [*self._as_user, str(self._bin / "postgres"), *words, *self._options],
                stdout=log,
                stderr=log,
                cwd=self.socket,
                env=ENVIRONMENT,
            )
        ready = [
            str(self._bin / "pg_isready"),
            "-q",
            "-U",
            "comity",
            "-d",
            "postgres",
            "-h",
            str(self.socket),
            "-p",
            str(self.port),
        ]
        deadline = time.monotonic() + HANGS
        while subprocess.run(ready, check=False, env=ENVIRONMENT).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.socket / "log").read_text())
            time.sleep(0.02)

    def stop(self) -> None:
        """End it at once, and all connections with it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # "fast": nobody is waited for
            self._process.wait()
            self._process = None


@contextmanager
def serve(bin_: Path, options: Sequence[str] = QUICK, *, within: Path | None = None) -> Iterator[Server]:
    """A server that runs.

    Args:
        within: where its folder is made; None for where writing costs least.
    """
    if within is None and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        within = MEMORY
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=within))
    try:
        server = Server(folder, bin_, options)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
