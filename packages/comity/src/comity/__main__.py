"""`python -m comity` is the `comity` command."""

import os
import sys

try:  # first of all: `python -m` looks for every module in the current folder first, whatever lies there
    if sys.path[:1] == [os.getcwd()] and not sys.flags.safe_path:  # noqa: PTH109 (pathlib would be looked for there)
        del sys.path[0]
except OSError:
    pass  # it is not there any more

import signal

if sys.argv[1:2] == ["worker"]:  # a terminal tells the whole group, perhaps while this starts; its parent decides
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

from comity.cli import main

main()
