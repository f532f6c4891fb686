"""`python -m comity.demo [PORT]` serves the demo site until Ctrl-C."""

import sys
import threading

from comity.demo import serve

with serve(int(sys.argv[1]) if len(sys.argv) > 1 else 8088) as site:
    print("\n".join(site.seeds), flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
