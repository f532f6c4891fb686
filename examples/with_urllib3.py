"""A middleware for a library that comity has none for, here urllib3, and a page fetched with it."""

import sys
from types import SimpleNamespace

import urllib3

import comity
from comity.middleware.sending import Arriving, Sending, as_sent
from comity.urls import Url


class PolitePool:
    """GETs whose turn and robots.txt come first; redirects are the caller's."""

    def __init__(self, policy: comity.Policy) -> None:
        self._pool = urllib3.PoolManager(retries=False)
        self._sending = Sending(policy)

    def get(self, text: str) -> tuple[urllib3.BaseHTTPResponse, comity.Decision]:
        url = as_sent(text, lambda url: urllib3.util.parse_url(url).url)  # what urllib3 would send
        request = SimpleNamespace(url=url, method="GET", headers={})

        def ask(robots_url: Url, headers: dict[str, str]) -> Arriving:
            answer = self._pool.urlopen("GET", robots_url, headers=headers, redirect=False, preload_content=False)
            return Arriving(answer.status, answer.headers, answer.stream(decode_content=False), answer.close)

        def send() -> urllib3.BaseHTTPResponse:
            return self._pool.urlopen("GET", url, headers=request.headers, redirect=False)

        return self._sending.send(request, url, send, ask, urllib3.exceptions.HTTPError)


def main(base: str) -> None:
    pool = PolitePool(comity.Policy(agent="MyBot/1.0 (+https://example.org/bot)"))
    for path in ("open", "private"):
        try:
            answer, decision = pool.get(base + path)
        except comity.RobotsDisallowed as refused:
            print("refused:", refused.decision.url, "-", refused.decision.why)
        else:
            print(answer.status, decision.url, "-", decision.why)


if __name__ == "__main__":
    main(sys.argv[1])
