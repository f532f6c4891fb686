"""A robots.txt that redirects to a host of another shard: that shard asks the host, in its own turn, and answers.

So every request to a host is made by the one shard that keeps its pace. Question and answer are messages, each in the
transaction of what else came of it (frontier/messages.py). A question is remembered until its answer is committed,
whoever has the shard by then. Who asks holds no turn meanwhile, so no two shards wait for each other; and its fetch is
under way until the answer is there, so the crawl is not over before.
"""

import asyncio
import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final

from comity.crawler.output.ledger import Ledger
from comity.crawler.run.control import Control
from comity.crawler.run.failures import raise_what_is_ours
from comity.crawler.run.results import ResultBuffer
from comity.crawler.run.scheduler import Scheduler
from comity.crawler.storage.placement import ShardAssignment
from comity.errors import AddressBlocked, ComityError, FetchError, Postponed
from comity.frontier.values import Message
from comity.gate.steps import postponed
from comity.net import Session
from comity.net.response import Response
from comity.net.turns import Relay
from comity_pages import urls

QUESTION_FACT: Final = "relay "  # facts, by origin: in which run who asked for what
_RELAYED: Final = ("status", "truncated", "address")  # beside headers and body
ORDER_GRACE_SECONDS: Final = 1.0  # seconds until both shards know of the same orders


class RobotsRelay:
    """What one shard has others ask for, and they have it. `earlier`: the questions that the frontier remembers, by the
    names of their facts."""

    def __init__(
        self,
        assignment: ShardAssignment,
        session: Session,
        scheduler: Scheduler,
        results: ResultBuffer,
        ledger: Ledger,
        control: Control,
        earlier: Mapping[str, Any],
    ) -> None:
        self._assignment = assignment
        self._session = session
        self._scheduler = scheduler
        self._results = results
        self._ledger = ledger
        self._control = control
        self._run = None if assignment.run is None else assignment.run.number
        self._wanted: dict[tuple[str, str], asyncio.Future[dict[str, Any]]] = {}  # by origin and URL
        self._asking: dict[str, asyncio.Task[None]] = {}  # for others, by origin
        self._earlier = earlier

    def resume(self) -> None:
        """Ask what earlier holders of the shard were asked and did not answer."""
        for name, (run, shard, url, conditions) in self._earlier.items():
            if run == self._run:
                self._begin(Relay(name.removeprefix(QUESTION_FACT), url, conditions), shard)
            else:  # who asked has ended since
                self._results.facts.put(name, None)

    async def ask(self, wanted: Relay) -> Response | Exception | None:
        """Carry out a Relay; Postponed where the host may not be asked now, or the crawl ends."""
        host, stopped = urls.host(wanted.url), self._session.driver.gate.stopped
        if (shard := await self._owner(host)) is None:
            return None
        if host in stopped:
            raise postponed(wanted.url, math.inf)
        if self._control.is_over:
            raise Postponed(f"{wanted.url} is not requested: the crawl ends", url=wanted.url, seconds=0.0)
        key = wanted.origin, wanted.url
        answer = self._wanted[key] = asyncio.get_running_loop().create_future()
        self._send(shard, wanted, {"ask": wanted.conditions, "for": self._assignment.number})
        try:
            content = await self._session.driver.wait_for(answer)
        finally:
            if self._wanted.get(key) is answer:
                del self._wanted[key]
        if "put_off" in content:
            never = math.inf if host in stopped else ORDER_GRACE_SECONDS
            raise postponed(wanted.url, never if content["put_off"] is None else content["put_off"])
        outcome = _outcome(wanted.url, content)
        self._ledger.relayed(wanted.origin, wanted.url, shard, outcome)
        return outcome

    def arrived(self, message: Message) -> None:
        """Take up what another shard asks, or answers."""
        content, origin = dict(message.about or {}), message.found_on or ""
        if content.pop("run", None) != self._run:
            return  # nobody waits for it any more, and what a host answered then may be old
        if "ask" in content:
            self._results.facts.put(QUESTION_FACT + origin, [self._run, content["for"], message.url, content["ask"]])
            self._begin(Relay(origin, message.url, content["ask"]), content["for"])
        elif (answer := self._wanted.get((origin, message.url))) is not None and not answer.done():
            answer.set_result(content)

    def _begin(self, asked: Relay, shard: int) -> None:
        if (before := self._asking.get(asked.origin)) is not None:
            before.cancel()  # who asks once more has been started again meanwhile
        if self._control.is_over:
            return  # nothing new is started: who has the shard next in this run goes on with it
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(self._answer(asked, shard))
        self._asking[asked.origin] = task
        self._scheduler.tasks.add(task)  # it is under way like a fetch
        task.add_done_callback(lambda task: self._done(asked.origin, task))

    async def _answer(self, asked: Relay, shard: int) -> None:
        content: dict[str, Any]
        if (owner := await self._owner(urls.host(asked.url))) is not None:
            shard, content = owner, {"ask": asked.conditions, "for": shard}
        else:
            try:
                content = _to_json(await self._session.relayed_robots(asked))
            except Postponed as error:
                content = {"put_off": None if math.isinf(error.seconds) else error.seconds}
            except Exception as error:
                raise_what_is_ours(error)
                content = _to_json(error)
        self._send(shard, asked, content)
        self._results.facts.put(QUESTION_FACT + asked.origin, None)

    def _send(self, shard: int, about: Relay, content: dict[str, Any]) -> None:
        pace = self._assignment.settled.get(urls.host(about.url))
        message = Message(about.url, found_on=about.origin, pace=pace, about={**content, "run": self._run})
        self._results.message(shard, message)
        self._control.wake()

    async def _owner(self, host: str) -> int | None:
        """The shard that a host belongs to, which may have to be looked up; None where it is this one."""
        if self._assignment.has_to_settle(host):
            self._assignment.settled.settle(host, await self._session.driver.address_of(host))
        return self._assignment.elsewhere(host)

    def _done(self, origin: str, task: "asyncio.Task[None]") -> None:
        self._scheduler.tasks.discard(task)
        if self._asking.get(origin) is task:
            del self._asking[origin]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._control.fail(error)
        self._control.wake()


def _to_json(outcome: Response | Exception) -> dict[str, Any]:
    """What a host answered, as JSON can hold it."""
    if isinstance(outcome, Exception):
        text = outcome.detail if isinstance(outcome, ComityError) else str(outcome)
        blocked = {"blocked": True} if isinstance(outcome, AddressBlocked) else {}
        return {"error": text or type(outcome).__name__, **blocked}
    content = {name: getattr(outcome, name) for name in _RELAYED}
    return content | {"headers": dict(outcome.headers), "body": b64encode(outcome.body).decode("ascii")}


def _outcome(url: str, content: dict[str, Any]) -> Response | Exception:
    if "error" in content:
        return (AddressBlocked if content.get("blocked") else FetchError)(content["error"], url=url)
    return Response(url=url, **{**content, "body": b64decode(content["body"])})
