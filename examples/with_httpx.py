"""python examples/with_httpx.py https://example.com/"""

import sys

import httpx

import comity
from comity.middleware.httpx import ComityTransport

policy = comity.Policy(agent="MyBot/1.0 (+https://example.org/bot)")
with httpx.Client(transport=ComityTransport(policy), base_url=sys.argv[1]) as client:
    for path in ("/open", "/private"):
        try:
            response = client.get(path)
            print(response.status_code, response.url, "-", response.extensions["comity"].why)
        except comity.RobotsDisallowed as error:
            print("refused:", error.url, "-", error.decision.why)
