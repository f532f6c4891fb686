"""Who a bot is: the files and the page that explain it; for sites, the verification of signed requests."""

from typing import TYPE_CHECKING

from comity_robots._lazy import lazy_exports

if TYPE_CHECKING:
    from comity.identity.published import create, rotate
    from comity.identity.verifier import KeyLookup, Verdict, verify
    from comity.signatures.folder import Identity, load

__all__ = ["Identity", "KeyLookup", "Verdict", "create", "load", "rotate", "verify"]

__getattr__ = lazy_exports(  # who makes a key has no use for a client
    __name__,
    {
        "comity.identity.published": "create rotate",
        "comity.identity.verifier": "KeyLookup Verdict verify",
        "comity.signatures.folder": "Identity load",
    },
)
