"""An identity in a folder: what the bot says of itself, its keys, and which of them signs now."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from comity.errors import InvalidSetting, InvalidURL
from comity.files import write_anew
from comity.signatures.base import TAG, structured
from comity.signatures.keys import PublicKey, SigningKey, decoded, encoded
from comity.signatures.signing import Form, Signer
from comity_pages import urls
from comity_robots.fields import WrongType, typed

IDENTITY_FILE: Final = "identity.json"
KEYS_FOLDER: Final = "keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEntry:
    """One key of an identity.

    Attributes:
        x: its public half, base64url.
        signs_from: seconds since 1970 from which it signs: verifiers must have had time to see it.
        until: seconds since 1970 to which the directory lists it; None: no end is set.
    """

    x: str
    signs_from: float
    until: float | None = None

    def public(self) -> PublicKey:
        return PublicKey(decoded(self.x), not_before=None, expires=self.until)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a bot says of itself.

    Attributes:
        name: the product token, such as `ExampleBot`.
        page: https URL of the page that explains the bot; its origin publishes the keys.
        contact: where people are answered: an address, `mailto:` or a URL.
        purpose: what is done with the data, in a word or a sentence.
        rendered: whether pages are rendered, so that scripts, sheets and images are requested too.
        ranges: networks that requests come from, as CIDR.
        form: how `Signature-Agent` is written, `dictionary` or `string`.
        keys: the oldest first.
    """

    name: str
    page: str
    contact: str
    purpose: str
    rendered: bool = False
    ranges: tuple[str, ...] = ()
    form: Form = "dictionary"
    keys: tuple[KeyEntry, ...] = field(default=())

    @property
    def origin(self) -> str:
        """Where the keys are published."""
        return urls.origin(self.page)

    def signing(self, now: float) -> KeyEntry:
        """Return the key that signs at a time: the newest that has begun. Raises InvalidSetting: there is none."""
        begun = [key for key in self.keys if key.signs_from <= now and (key.until is None or now < key.until)]
        if not begun:
            raise InvalidSetting("no key of this identity is valid now", hint="comity identity rotate makes one")
        return begun[-1]

    def listed(self, now: float) -> list[KeyEntry]:
        """Return the keys that the directory lists at a time."""
        return [key for key in self.keys if key.until is None or now < key.until]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def load(folder: Path) -> Identity:
    """Raises InvalidSetting: there is no identity in that folder, or it is damaged."""
    path = folder / IDENTITY_FILE
    try:
        identity: Identity = typed(json.loads(path.read_bytes()), Identity)
        urls.normalise(identity.page)
    except OSError as error:
        raise InvalidSetting(
            f"{path} cannot be read: {error.strerror or error}", hint=f"comity identity new {folder} ... makes one"
        ) from None
    except (WrongType, InvalidURL, ValueError) as error:
        raise InvalidSetting(f"{path} is damaged: {getattr(error, 'message', error)}") from None
    return identity


def save(folder: Path, identity: Identity) -> None:
    """Raises OSError."""
    path = folder / IDENTITY_FILE
    write_anew(path, f"{json.dumps(identity.to_dict(), indent=2)}\n".encode())


def make_key(folder: Path, *, signs_from: float) -> KeyEntry:
    """Make a key in the folder of an identity; its file is named by its thumbprint. Raises OSError."""
    (folder / KEYS_FOLDER).mkdir(mode=0o700, exist_ok=True)
    key = SigningKey.made()
    key.write(_file(folder, key.public))
    return KeyEntry(x=encoded(key.public.x), signs_from=signs_from)


def signing_key(folder: Path, now: float) -> tuple[Identity, SigningKey]:
    """Return the identity in a folder and the key that signs now.

    Raises:
        InvalidSetting: its files cannot be read, or others can read its key.
    """
    identity = load(folder)
    entry = identity.signing(now).public()
    key = SigningKey.read(_file(folder, entry))
    if key.public.thumbprint != entry.thumbprint:
        raise InvalidSetting(f"{_file(folder, entry)} is not the key that {folder / IDENTITY_FILE} names")
    return identity, key


def signer(folder: Path, now: float) -> Signer:
    """Return what signs requests in the name of the identity in a folder; errors as of `signing_key`."""
    identity, key = signing_key(folder, now)
    return Signer(key, identity.origin, identity.form)


def _file(folder: Path, key: PublicKey) -> Path:
    return folder / KEYS_FOLDER / f"{key.thumbprint}.json"


RELOAD_SECONDS: Final = 3600.0
"""Seconds after which the folder is read again: a key that was published may sign by then."""
_ASKING_STATUSES: Final = (403, 429)
_MAX_ORIGINS: Final = 10_000


class Signing:
    """Signs the requests of one client in the name of the identity in a folder.

    Args:
        folder: of the identity.
        always: whether every request is signed, or those to origins that asked for it.
        but: origins to which no request is signed.

    Raises:
        InvalidSetting: the folder holds no identity, or its key cannot be used.
    """

    def __init__(self, folder: Path, now: float, *, always: bool, but: Collection[str] = ()) -> None:
        self._folder, self._always, self._but = folder, always, but
        self._signer = signer(folder, now)
        self._read_at = now
        self._asked: dict[str, str | None] = {}  # with the nonce that the next request there has

    def headers(self, method: str, url: str, now: float) -> dict[str, str]:
        """Return the fields that sign a request; empty where it is not signed.

        Args:
            url: absolute, in normal form.
            now: seconds since 1970.
        """
        who, origin = self._who(url, now), urls.origin(url)
        if who is None:
            return {}
        nonce = self._asked.get(origin)
        if nonce is not None:
            self._asked[origin] = None
        return who.headers(method, url, now, nonce=nonce)

    def keyid(self, url: str, now: float) -> str | None:
        """Return the key that signs a request for a URL; None where it is not signed."""
        who = self._who(url, now)
        return None if who is None else who.keyid

    def _who(self, url: str, now: float) -> Signer | None:
        origin = urls.origin(url)
        if origin in self._but or not (self._always or origin in self._asked):
            return None
        if not 0 <= now - self._read_at < RELOAD_SECONDS:
            self._signer, self._read_at = signer(self._folder, now), now
        return self._signer

    def asked(self, url: str, status: int, headers: Mapping[str, str]) -> bool:
        """Return whether an answer asks for a signature that its request did not have (RFC 9421, 5), once for an
        origin.

        Later requests there have one; the next has the nonce that was asked for, if one was.
        """
        origin = urls.origin(url)
        if status not in _ASKING_STATUSES or "Accept-Signature" not in headers:
            return False
        if origin in self._asked or origin in self._but:
            return False
        try:
            members = structured(str(headers["Accept-Signature"])).values()
        except ValueError:
            return False
        wanted = [said for _, said in members if said.get("tag", TAG) == TAG]
        nonce = wanted[0].get("nonce") if wanted else None
        if not (isinstance(nonce, str) and re.fullmatch(r"[\w+/=.:-]{1,200}", nonce, re.ASCII)):
            nonce = None
        if not wanted or (self._always and nonce is None):
            return False
        while len(self._asked) >= _MAX_ORIGINS:
            del self._asked[next(iter(self._asked))]
        self._asked[origin] = nonce
        return True
