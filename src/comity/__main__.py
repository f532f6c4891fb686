"""`python -m comity` is the `comity` command."""

import signal
import sys

if sys.argv[1:2] == ["worker"]:  # a terminal tells the whole group, perhaps while this starts; its parent decides
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

from comity.cli import main

main()
