"""Who a bot is: the files and the page that explain it; for sites, the verification of signed requests."""

from comity.identity.published import create, rotate
from comity.identity.verifier import KeyLookup, Verdict, verify
from comity.signatures.folder import Identity, load

__all__ = ["Identity", "KeyLookup", "Verdict", "create", "load", "rotate", "verify"]
