"""An adapter for requests that asks before each request, redirect hops included, and keeps each host's pace.

from comity.middleware.requests import ComityAdapter
session.mount("https://", adapter := ComityAdapter(comity.Policy(agent="MyBot/1.0")))
session.mount("http://", adapter)
"""

from collections.abc import Iterator, Mapping

from comity._extras import missing

try:
    import requests
    import urllib3
    from requests.adapters import DEFAULT_POOLBLOCK, DEFAULT_POOLSIZE, HTTPAdapter
    from requests.utils import urldefragauth
except ModuleNotFoundError as error:
    raise missing(error, "requests", __name__) from None

from comity import Policy
from comity.gate import FetchRobots
from comity.middleware._wire import RequestSigning, Sign, settled
from comity.net.blocking_driver import Driver
from comity.net.client_settings import MAX_WAIT
from comity.net.robots_fetch import TIMEOUT, RobotsAnswer, asked_with, no_answer, read_answer
from comity.urls import Url

_Timeout = float | tuple[float, float] | tuple[float, None] | None


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
    """

    __attrs__ = [*HTTPAdapter.__attrs__, "_driver", "_sign"]  # noqa: RUF012 - what pickle and copy take along

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        max_wait: float | None = MAX_WAIT,
        identity: str | None = None,
        sign: Sign = "always",
        pool_connections: int = DEFAULT_POOLSIZE,
        pool_maxsize: int = DEFAULT_POOLSIZE,
        pool_block: bool = DEFAULT_POOLBLOCK,
    ) -> None:
        super().__init__(pool_connections=pool_connections, pool_maxsize=pool_maxsize, pool_block=pool_block)
        self._driver, self._sign = Driver(policy, max_wait), RequestSigning(identity, sign)

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: _Timeout = None,
        verify: bool | str = True,
        cert: bytes | str | tuple[bytes | str, bytes | str] | None = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Send a request in its turn.

        Raises:
            comity.RobotsDisallowed, comity.Postponed, comity.CircuitOpen
        """
        policy = self._driver.policy
        send = super().send

        def get(step: FetchRobots, conditions: dict[str, str], deadline: float) -> RobotsAnswer:
            authorization = request.headers.get("Authorization")
            if isinstance(authorization, bytes):
                authorization = authorization.decode("latin-1")
            headers = asked_with(policy, step.url, conditions, request.url or "", authorization)
            self._sign(headers, "GET", step.url)
            most = _robots_timeout(timeout)
            with no_answer(step.url, requests.RequestException, urllib3.exceptions.HTTPError):
                asking = requests.Request("GET", step.url, headers=headers).prepare()
                with send(asking, stream=True, timeout=most, verify=verify, cert=cert, proxies=proxies) as answer:
                    return read_answer(step.url, answer.status_code, answer.headers, _parts(answer), deadline)

        own = request.url or ""
        url = settled(own, _sent)
        if urldefragauth(own) != url:
            request.url = url
        method = request.method or "GET"
        while True:
            with self._driver.turn(url, get) as go:
                request.headers["User-Agent"] = policy.agent
                self._sign(request.headers, method, url)
                response = send(request, stream=stream, timeout=timeout, verify=verify, cert=cert, proxies=proxies)
                self._driver.headers_received(go, response.status_code, response.headers.get("Retry-After"))
            if not self._sign.again(method, url, response.status_code, response.headers):
                break
            response.close()
        response.comity = go.decision  # type: ignore[attr-defined]
        return response


def _sent(url: Url) -> str:
    """What requests and urllib3 make of a URL."""
    asked = requests.PreparedRequest()
    asked.url = url
    return str(urllib3.util.parse_url(url.origin + asked.path_url).url)


def _robots_timeout(timeout: _Timeout) -> _Timeout:
    """The time-out of the request that needs a robots.txt, as far as it is shorter."""
    if isinstance(timeout, urllib3.Timeout):
        timeout = (timeout.connect_timeout, timeout.read_timeout)
    connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    return _at_most(connect), _at_most(read)


def _at_most(seconds: object) -> float:
    return min(seconds, TIMEOUT) if isinstance(seconds, int | float) else TIMEOUT


def _parts(answer: requests.Response) -> Iterator[bytes]:
    """The body as it arrives, undecoded: `iter_content` would wait until each part is full."""
    read = getattr(answer.raw, "read1", None)  # urllib3 2
    while part := read(65_536, decode_content=False) if read else answer.raw.read(1, decode_content=False):
        yield part
