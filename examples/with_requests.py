"""python examples/with_requests.py https://example.com/"""

import sys
from urllib.parse import urljoin

import requests

import comity
from comity.middleware.requests import ComityAdapter

adapter = ComityAdapter(comity.Policy(agent="MyBot/1.0 (+https://example.org/bot)"))
with requests.Session() as session:
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    for path in ("/open", "/private"):
        try:
            response = session.get(urljoin(sys.argv[1], path))
            print(response.status_code, response.url, "-", response.comity.why)
        except comity.RobotsDisallowed as error:
            print("refused:", error.url, "-", error.decision.why)
