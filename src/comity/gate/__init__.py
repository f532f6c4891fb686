"""Floor 3: the order of things as a state machine. Sans-I/O: time and responses are handed in."""

from comity.gate.machine import Gate
from comity.gate.steps import FetchRobots, Go, Refuse, Step, Wait

__all__ = ["FetchRobots", "Gate", "Go", "Refuse", "Step", "Wait"]
