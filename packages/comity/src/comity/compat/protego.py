"""Protego's class and method names, answered by comity's engine: `comity_robots.compat.protego`."""

from comity_robots.compat.protego import DIALECT, NotText, Protego, RequestRate, VisitTime

__all__ = ["DIALECT", "NotText", "Protego", "RequestRate", "VisitTime"]
