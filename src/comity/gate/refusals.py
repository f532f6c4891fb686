"""The errors that say in words why the gate lets a request not pass."""

from comity.errors import CircuitOpen, ComityError, OutOfHours, Postponed, RobotsDisallowed, RobotsUnreachable
from comity.gate import steps
from comity.policy import Decision


def refusal(decision: Decision) -> RobotsDisallowed:
    """The error that says a decision refuses a URL, naming the agent and the rule."""
    kind = RobotsUnreachable if decision.verdict == "unknown_unreachable" else RobotsDisallowed
    return kind(
        f"{decision.url} may not be fetched by {decision.agent}: {decision.why}", url=decision.url, decision=decision
    )


def postponed(url: str, seconds: float) -> Postponed:
    """The error for a wait that is longer than a call may take."""
    return Postponed(
        f"{url} cannot be asked for another {_lasting(seconds)}: its host is to be left alone until then",
        url=url,
        seconds=seconds,
        hint="try again later, or raise max_wait",
    )


def no_turn(url: str, waited: float, seconds: float = 0.0) -> Postponed:
    """The error for a call that waited for other requests to its host as long as it may."""
    return Postponed(
        f"{url} had no turn within {_lasting(waited)}: other requests wait for its host too",
        url=url,
        seconds=max(seconds, 0.0),
        hint="try again later, ask for less at once, or raise max_wait",
    )


def error_of(step: steps.Refuse | steps.Closed | steps.CircuitOpen, url: str, now: float) -> ComityError:
    """The error for a step that ends a call."""
    if isinstance(step, steps.Refuse):
        return refusal(step.decision)
    seconds = max(step.until - now, 0.0)
    if isinstance(step, steps.Closed):
        return OutOfHours(
            f"{url} cannot be asked for another {_lasting(seconds)}: its site receives no visits now (Visit-time)",
            url=url,
            seconds=seconds,
            hint="try again later",
        )
    return CircuitOpen(
        f"{url} cannot be asked for another {_lasting(seconds)}: its host failed too often in a row",
        url=url,
        seconds=seconds,
        hint="try again later",
    )


def _lasting(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.3g} s"
