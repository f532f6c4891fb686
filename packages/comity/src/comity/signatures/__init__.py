"""Signed requests: RFC 9421 signatures by Ed25519 keys, in the profile that Web Bot Auth gives them
(draft-ietf-webbotauth-httpsig-protocol). Signs and verifies; fetches nothing and reads no clock.
"""

from comity.signatures.keys import PublicKey, SigningKey
from comity.signatures.signing import Signer
from comity.signatures.verifying import Refused, Signed, signatures_of

__all__ = ["PublicKey", "Refused", "Signed", "Signer", "SigningKey", "signatures_of"]
