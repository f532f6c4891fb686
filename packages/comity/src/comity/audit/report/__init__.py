"""The report of a crawl: one HTML file made from its ledger, for people to read and to print."""

from comity.audit.report.page import write

__all__ = ["write"]
