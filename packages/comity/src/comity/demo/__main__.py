"""`python -m comity.demo [PORT]` serves the demo site until Ctrl-C."""

import argparse
import sys
import threading

from comity.demo import serve

parser = argparse.ArgumentParser(prog="python -m comity.demo", description="Serves the demo site until Ctrl-C.")
parser.add_argument("port", nargs="?", type=int, default=8088, help="on loopback; 0 for any that is free (8088)")
port = parser.parse_args().port
try:
    with serve(port) as site:
        print("\n".join(site.seeds), flush=True)
        threading.Event().wait()
except KeyboardInterrupt:
    pass
except (OSError, OverflowError) as error:
    sys.exit(f"port {port} cannot be used: {getattr(error, 'strerror', None) or error}")
