"""systemd's units for a crawl that comes back, as `systemctl cat` shows files: each after its path."""

import getpass
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_FOLDER: Final = "/etc/systemd/system"
_UNITS: Final = """\
# {folder}/{name}.service
[Unit]
Description=The crawl of {file}
Wants=network-online.target
After=network-online.target
OnFailure=comity-failed@%n.service
StartLimitIntervalSec=1d
StartLimitBurst=5

[Service]
Type=oneshot
{user}WorkingDirectory={where}
ExecStart={command}
# 130: stopped by systemctl stop; the next run goes on
SuccessExitStatus=130
# 3, nothing could be reached now, and a crash: again after a while, until StartLimitBurst ends it
Restart=on-failure
RestartSec=30min
RestartPreventExitStatus=1 2 64 66 73 74
# for the requests in progress
TimeoutStopSec=5min
NoNewPrivileges=yes

# {folder}/{name}.timer
[Unit]
Description=When the crawl of {file} runs

[Timer]
OnCalendar=weekly
RandomizedDelaySec=1h
Persistent=yes

[Install]
WantedBy=timers.target

# {folder}/comity-failed@.service
[Unit]
Description=Says that %i has failed

[Service]
Type=oneshot
# put what reaches you in its place: mail, a message
ExecStart=/bin/sh -c 'echo "<3>%i failed: journalctl -u %i says why"'
"""


def units(file: Path) -> str:
    """Return a service that runs the crawl of a settings file, a timer that starts it, and a service for failures."""
    user = ""
    with suppress(KeyError, OSError, ImportError):  # no name
        user = f"User={getpass.getuser()}\n"
    words = (sys.executable, "-m", "comity", "crawl", "--config", str(file.absolute()), "--quiet")
    name = "comity-" + (re.sub(r"[^A-Za-z0-9_.]+", "-", file.stem).strip("-.") or "crawl")
    return _UNITS.format(
        folder=_FOLDER,
        name=name,
        file=_plain(file.name),
        user=user,
        where=_plain(str(Path.cwd())),
        command=" ".join(map(_quoted, words)),
    ).rstrip("\n")


def _plain(text: str) -> str:
    """A text in a unit: a percent sign would begin a specifier, and a line ends a value."""
    return " ".join(text.split("\n")).replace("%", "%%")


def _quoted(word: str) -> str:
    """A word of a command line, by systemd.service(5)."""
    plain = _plain(word).replace("$", "$$")
    return plain if re.fullmatch(r"[\w@%+=:,./$-]+", plain) else '"' + re.sub(r'(["\\])', r"\\\1", plain) + '"'
