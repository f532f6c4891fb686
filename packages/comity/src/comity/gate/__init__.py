"""The order of a request's steps as a state machine. Sans-I/O: time and responses are handed in."""

from comity.gate.machine import Gate
from comity.gate.steps import CircuitOpen, FetchRobots, Go, OutsideVisitTime, Refuse, Resolve, Step, Wait

__all__ = ["CircuitOpen", "FetchRobots", "Gate", "Go", "OutsideVisitTime", "Refuse", "Resolve", "Step", "Wait"]
