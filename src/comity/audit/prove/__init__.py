"""Re-checking a finished crawl offline from its files: the ledger's chain, each decision, each interval."""

from comity.audit.prove.findings import Finding, Proof
from comity.audit.prove.proving import StillRunning, prove

__all__ = ["Finding", "Proof", "StillRunning", "prove"]
