"""An adapter for requests that asks before each request, redirect hops included, and keeps each host's pace.

from comity.integrations.requests import ComityAdapter
session.mount("https://", adapter := ComityAdapter(comity.Policy(agent="MyBot/1.0")))
session.mount("http://", adapter)
"""

from collections.abc import Mapping

import requests
from requests.adapters import DEFAULT_POOLBLOCK, DEFAULT_POOLSIZE, HTTPAdapter

from comity import Policy
from comity.gate import FetchRobots
from comity.integrations._driving import Driver
from comity.integrations._robots_request import Answer, body_of, robots_result
from comity.policy import RobotsResult


class ComityAdapter(HTTPAdapter):
    """Mount one adapter on both schemes, so that both share its paces. Threads may share a session's adapter.

    A refused request raises `comity.RobotsDisallowed` and is not sent. The policy's agent is sent as User-Agent: who
    asks is who comes. `response.comity` is the decision. The address guard is not part of it: connections are
    urllib3's. Retries by urllib3 would not be paced, so there is no setting for them.

    Args:
        policy: what may be done.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        pool_connections: int = DEFAULT_POOLSIZE,
        pool_maxsize: int = DEFAULT_POOLSIZE,
        pool_block: bool = DEFAULT_POOLBLOCK,
    ) -> None:
        super().__init__(pool_connections=pool_connections, pool_maxsize=pool_maxsize, pool_block=pool_block)
        self._driver = Driver(policy)

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: float | tuple[float, float] | tuple[float, None] | None = None,
        verify: bool | str = True,
        cert: bytes | str | tuple[bytes | str, bytes | str] | None = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Send a request in its turn.

        Raises:
            comity.RobotsDisallowed
        """
        policy = self._driver.policy
        send = super().send

        def get(url: str) -> Answer:
            asking = requests.Request("GET", url, headers={"User-Agent": policy.agent, "Accept": "*/*"}).prepare()
            with send(asking, stream=True, timeout=timeout, verify=verify, cert=cert, proxies=proxies) as answer:
                body = body_of(answer.iter_content(65_536))
                return Answer(answer.status_code, answer.headers, body)

        def robots(step: FetchRobots) -> RobotsResult:
            return robots_result(policy, step, get, (requests.RequestException, TimeoutError))

        with self._driver.turn(request.url or "", robots) as turn:
            request.headers["User-Agent"] = policy.agent
            response = send(request, stream=stream, timeout=timeout, verify=verify, cert=cert, proxies=proxies)
            turn.heard(response.status_code, response.headers.get("Retry-After"))
        response.comity = turn.decision  # type: ignore[attr-defined]
        return response
