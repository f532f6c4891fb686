"""An adapter for requests that asks before each request, redirect hops included, and keeps each host's pace.

from comity.middleware.requests import ComityAdapter
session.mount("https://", adapter := ComityAdapter(comity.Policy(agent="MyBot/1.0")))
session.mount("http://", adapter)
"""

from collections.abc import Iterator
from typing import Any

from comity_pages._extras import missing

try:
    import requests
    import urllib3
    from requests.adapters import HTTPAdapter
    from requests.utils import urldefragauth
except ModuleNotFoundError as error:
    raise missing(error, "requests", __name__) from None

from comity import Policy
from comity.middleware.sending import Arriving, Sending, Sign, as_sent
from comity.net.client_settings import MAX_WAIT
from comity.net.turns import MAX_ROBOTS_SECONDS
from comity_pages.urls import Url


class ComityAdapter(HTTPAdapter):
    """Mount one adapter on both schemes, so that both share its paces. Threads may share a session's adapter, and so do
    deep copies of a session in one process. A pickled adapter, like one in a forked process, begins anew.

    A refused request raises `comity.RobotsDisallowed` and is not sent. The policy's agent is sent as User-Agent.
    `response.comity` is the decision. The address guard is not part of it: connections are urllib3's. Retries by
    urllib3 would not be paced, so there is no setting for them.

    Args:
        policy: what may be done.
        max_wait: seconds that a request waits for its turn, which no time-out of the library counts; a longer wait
            raises `comity.Postponed`. None: for ever.
        identity, sign: in whose name requests are signed, and when, as of `comity.ClientSettings`.
        pool: `pool_connections`, `pool_maxsize` and `pool_block` of HTTPAdapter.
    """

    __attrs__ = [*HTTPAdapter.__attrs__, "_sending"]  # noqa: RUF012 - what pickle and copy take along

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        max_wait: float | None = MAX_WAIT,
        identity: str | None = None,
        sign: Sign = "always",
        **pool: Any,
    ) -> None:
        if unknown := pool.keys() - {"pool_connections", "pool_maxsize", "pool_block"}:
            raise TypeError(f"ComityAdapter has no argument {min(unknown)!r}")
        super().__init__(**pool)
        self._sending = Sending(policy, max_wait, identity, sign)

    def send(
        self, request: requests.PreparedRequest, stream: bool = False, timeout: Any = None, *how: Any, **named: Any
    ) -> requests.Response:
        """Send a request in its turn. Raises comity.RobotsDisallowed, comity.Postponed, comity.CircuitOpen."""
        send = super().send

        def ask(robots_url: Url, headers: dict[str, str]) -> Arriving:
            asking = requests.Request("GET", robots_url, headers=headers).prepare()
            answer = send(asking, True, _robots_timeout(timeout), *how, **named)
            return Arriving(answer.status_code, answer.headers, _parts(answer), answer.close)

        own = request.url or ""
        url = as_sent(own, _sent)
        if urldefragauth(own) != url:
            request.url = str(url)
        answer, decision = self._sending.send(
            request,
            url,
            lambda: send(request, stream, timeout, *how, **named),
            ask,
            requests.RequestException,
            urllib3.exceptions.HTTPError,
        )
        answer.comity = decision
        return answer  # type: ignore[no-any-return]


def _sent(url: Url) -> str:
    """Return what requests and urllib3 make of a URL."""
    asked = requests.PreparedRequest()
    asked.url = str(url)
    return str(urllib3.util.parse_url(url.origin + asked.path_url).url)


def _robots_timeout(timeout: Any) -> tuple[float, float]:
    """Return the time-out of the request that needs a robots.txt, as far as it is shorter."""
    if isinstance(timeout, urllib3.Timeout):
        timeout = (timeout.connect_timeout, timeout.read_timeout)
    given = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    connect, read = (
        min(each, MAX_ROBOTS_SECONDS) if isinstance(each, int | float) else MAX_ROBOTS_SECONDS for each in given
    )
    return connect, read


def _parts(answer: requests.Response) -> Iterator[bytes]:
    """Yield the body as it arrives, undecoded: `iter_content` would wait until each part is full."""
    read = getattr(answer.raw, "read1", None)  # urllib3 2
    while part := read(65_536, decode_content=False) if read else answer.raw.read(1, decode_content=False):
        yield part
