"""How requests are made: limits, time-outs, headers. Frozen; checked when made. What may be asked is Policy's."""

import math
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal

from comity.errors import InvalidSetting, InvalidURL
from comity.http_rules import is_field_name
from comity_pages.urls import Url
from comity_robots.fields import MIB, SecretDict, check, seconds, setting, size

MAX_WAIT: Final = 600.0  # seconds
TIMEOUT_SECONDS: Final = 30.0
APPLICATION_ID: Final = int.from_bytes(b"cmty")  # which SQLite keeps in a cache file
CONCEALED: Final = "***"
MIN_LIFE_SECONDS: Final = 14 * 86_400.0  # before headers for one origin expire, they are warned of
CREDENTIAL_HEADERS: Final = frozenset(("authorization", "cookie", "proxy-authorization"))
CROSS_ORIGIN_HEADERS: Final = frozenset(("accept", "accept-language"))
"""Of one call's headers, those that another origin gets too."""
CLIENT_HEADERS: Final = frozenset(
    ("host", "user-agent", "connection", "content-length", "transfer-encoding", "accept-encoding")
)
# As text: most runs conceal nothing and need neither compiled.
_SECRET: Final = "(?i)auth|cookie|credential|key|password|secret|session|token"
_USERINFO: Final = r"(?s)(?<=//).*@|^(?!.*//).*@"


def secret(header: str) -> bool:
    """Return whether the value of a request header is secret, by its name."""
    return re.search(_SECRET, header) is not None


def concealed(name: str, value: Any) -> Any:
    """Return a setting's value as others may see it: without passwords, and of what may be a key the name alone."""
    match name:
        case "auth":
            return {origin: (pair[0], CONCEALED) for origin, pair in value.items()}
        case "origin_headers":
            return {origin: dict.fromkeys(headers, CONCEALED) for origin, headers in value.items()}
        case "headers" | "licences" | "params":
            return dict.fromkeys(value, CONCEALED)
        case "proxy" if isinstance(value, str):
            return re.sub(_USERINFO, f"{CONCEALED}@", value)
    return value


def checked_headers(field: str, headers: Mapping[str, str]) -> None:
    """Check that headers can be sent as they are.

    Raises:
        InvalidSetting: one cannot.
        TypeError: they are no mapping.
    """
    _check_mapping(field, headers)
    for name, value in headers.items():
        if not (isinstance(name, str) and isinstance(value, str) and is_field_name(name) and value.isprintable()):
            raise InvalidSetting(f"{field}: {name!r} is not a header that can be sent")
        if name.lower() in CLIENT_HEADERS:
            why = "Policy.agent says who sends it" if name.lower() == "user-agent" else "the client writes it itself"
            raise InvalidSetting(f"{field}: {name} cannot be set: {why}")
    for name, count in Counter(map(str.lower, headers)).items():
        if count > 1:
            raise InvalidSetting(f"{field}: {name} is there twice, in different case")


def checked_params(params: Mapping[str, str]) -> None:
    """Check that query parameters can be written into a URL: numbers too, but nothing that would be sent as Python
    writes it.

    Raises:
        InvalidSetting: one cannot.
        TypeError: they are no mapping.
    """
    _check_mapping("params", params)
    for name, value in params.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise InvalidSetting(
                f"params: {name!r} is {type(value).__name__}, not text or a number",
                hint="write what holds the name several times into the URL itself",
            )


def _check_mapping(field: str, values: object) -> None:
    if not isinstance(values, Mapping):
        kind = type(values).__name__
        raise TypeError(f'{field}: expected a mapping of text to text, not {kind} (for example: {{"name": "value"}})')


def _headers(values: Mapping[str, str]) -> Mapping[str, str]:
    checked_headers("headers", values)
    for name in values:
        if name.lower() in CREDENTIAL_HEADERS:
            raise InvalidSetting(
                f"headers: {name} would be sent to every host: use auth, origin_headers, or headers of one call"
            )
    return values


def _types(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name.count("/") != 1 or name.startswith("/") or name.endswith("/"):
            raise InvalidSetting(f"content_types: {name!r} is not a media type such as text/html or text/*")
    return tuple(name.lower() for name in names)


def _auth(values: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    for origin, pair in values.items():
        if ":" in pair[0]:
            raise InvalidSetting(f"auth: for {origin} there must be a user name (without colon) and a password")
    return _by_origin("auth", {origin: (pair[0], pair[1]) for origin, pair in values.items()})


def _licences(values: Mapping[str, str]) -> dict[str, str]:
    for origin, token in values.items():
        if not re.fullmatch(r"[!-~]+", token):
            raise InvalidSetting(f"licences: for {origin} there must be a token, without spaces")
    return _by_origin("licences", values)


def _origin_headers(values: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    for origin, headers in values.items():
        checked_headers(f"origin_headers, for {origin}", headers)
        expiry(headers)
    return _by_origin("origin_headers", {origin: SecretDict(headers) for origin, headers in values.items()})


def _by_origin(field: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said by origin, by origins in their normal form.

    Raises:
        InvalidSetting: what is named is no origin, or one is there twice.
    """
    found: dict[str, Any] = {}
    for named, value in values.items():
        url = _web_address(field, named)
        if url != f"{url.origin}/" or set(named) & set("*@?#"):
            example = "write scheme and host alone, such as https://shop.example, once for each host"
            raise InvalidSetting(f"{field}: {concealed('proxy', named)} is not an origin", hint=example)
        if url.origin in found:
            raise InvalidSetting(f"{field}: {url.origin} is there twice")
        found[url.origin] = value
    return found


def expiry(headers: Mapping[str, str]) -> float | None:
    """Return Unix time in seconds at which headers for one origin stop being of use: the date of `Expires`, or the
    parameter `expires` of a `Signature-Input` (RFC 9421, 2.3); None where neither is there.

    Raises:
        InvalidSetting: `Expires` is no date, or `expires` no whole number.
    """
    named = {name.lower(): value for name, value in headers.items()}
    signed = re.sub(r'"[^"]*"', '"', named.get("signature-input", ""))
    stated = re.findall(r";\s*expires(?![\w.*-])([^;,]*)", signed)
    if not all(re.fullmatch(r"=\d{1,12}\s*", each) for each in stated):
        raise InvalidSetting("origin_headers: expires of Signature-Input is not a number of seconds (RFC 9421, 2.3)")
    times = [float(each[1:]) for each in stated]
    if "expires" in named:
        try:
            date = datetime.fromisoformat(named["expires"])
            date = date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
        except (ValueError, OverflowError):
            raise InvalidSetting("origin_headers: Expires is not a date such as 2027-01-31") from None
        times.append(date.timestamp())
    return min(times, default=None)


def _addresses(values: Mapping[str, str]) -> dict[str, str]:
    """Return names as a `Url` has them."""
    found = {}
    for name, address in values.items():
        try:
            if set(name) & set("/\\:@?#"):
                raise ValueError
            host = Url(f"http://{name}").host.rstrip(".")
        except ValueError:
            raise InvalidSetting(f"resolve: {name!r} is not a host name") from None
        try:
            found[host] = str(ip_address(address))
        except ValueError:
            raise InvalidSetting(f"resolve: {address!r}, for {name}, is not an IP address") from None
    return found


def _path(text: str) -> str:
    """Return a path whose `~` is the user's own folder, as a shell has it; comity.toml and variables pass no shell."""
    return str(Path(text).expanduser())


def _certificates(given: str) -> str:
    import ssl

    file = _path(given)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except ssl.SSLError:
        raise InvalidSetting(f"ca_file: {file} holds no certificate in PEM form") from None
    except OSError as error:
        raise InvalidSetting(f"ca_file: {file} cannot be read: {error.strerror or error}") from None
    return file


def _cache(given: str) -> str:
    """Check that a file that is there is a cache of ours: no other is touched."""
    file = _path(given)
    if (why := not_ours(file)) is not None:
        raise InvalidSetting(f"cache: {file} {why}", hint="name a file that does not exist yet, or an earlier cache")
    return file


def _nameservers(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        text, port = value, "53"
        if value.startswith("[") or value.count(":") == 1:
            text, _, port = value.rpartition(":") if not value.endswith("]") else (value, "", "53")
        try:
            ip_address(text.removeprefix("[").removesuffix("]") if text.startswith("[") else text)
            good = port.isascii() and port.isdigit() and 0 < int(port) < 65_536
        except ValueError:
            good = False
        if not good:
            raise InvalidSetting(f"nameservers: {value!r} is not an IP address, with or without a port")
    return values


def not_ours(file: str) -> str | None:
    """Return why a file is not to be taken for a cache, as the end of a sentence; None where it is one, or is not
    there.

    SQLite keeps the id of the program at octet 68 of the file (Database File Format, 1.2).
    """
    try:
        with Path(file).open("rb") as opened:
            head = opened.read(72)
    except IsADirectoryError:
        return "is a folder"
    except OSError:  # not there, or not to be read: opening it says why
        return None
    return None if not head or head[68:] == APPLICATION_ID.to_bytes(4, "big") else "is not a cache of comity"


def _proxy(value: str) -> str:
    _web_address("proxy", value)
    return value


def _web_address(field: str, value: str) -> Url:
    try:
        return Url(value)
    except InvalidURL as error:
        shown = concealed("proxy", value)
        raise InvalidSetting(f"{field}: {str(error).replace(repr(value), repr(shown))}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Limits and habits of the HTTP client.

    Attributes:
        timeout: seconds for one request from connecting to the last byte; of a stream, to the end of its head, and then
            between two parts of its body; None for no limit. Waiting for our own side (a turn, a lookup, a connection)
            does not count.
        connect_timeout: seconds for connecting, within `timeout`; set `read_timeout` with it, or neither.
        read_timeout: seconds between two parts of an answer, within `timeout`; set `connect_timeout` with it.
        head_timeout: seconds until the head of the answer is there; None: as `timeout`.
        robots_timeout: as `timeout`, for robots.txt; None: the same, and 30 seconds where that has no limit.
        max_wait: seconds that a call waits for its turn; if it would be longer, it raises Postponed. None: for ever.
        max_retries: times a GET or HEAD is tried again after 429, 502, 503, 504 or no answer.
        jitter: whether retries are spread over their back-off at random.
        max_body: bytes of a decoded body; more raises TooLarge. A crawl reads sitemaps of 50 MiB in any case.
        max_ratio: decoded bytes for each byte received; more raises TooLarge.
        max_robots_body: bytes of robots.txt that are read; the rest is left (RFC 9309, 2.5: at least 500 KiB).
        max_redirects: hops that `get` follows.
        content_types: media types that are read, such as `text/html` or `text/*`; empty for all. An answer of another
            one is closed after its head, and a crawl leaves it out (`unwanted`).
        connections: connections in use at the same time. Idle ones stay open for 30 to 75 s in addition, while the
            process has fewer connections than its limit on open files (`ulimit -n`) minus 256, or half of it.
        verify_tls: False accepts any certificate, for robots.txt too.
        ca_file: certificates to trust instead of the system's, a PEM file.
        proxy: URL of an HTTP proxy, at any address. The proxy resolves host names, so the address guard checks only
            URLs that contain an IP address or a name of this machine.
        headers: sent with every request, after `User-Agent`.
        params: query parameters added to every URL that a call names.
        auth: origin -> user name and password, sent to that origin, its robots.txt included, and to no other. Such a
            robots.txt is not kept in `cache`.
        licences: origin -> licence token (RSL), sent to that origin as `auth` is, and to no other.
        origin_headers: origin -> headers, such as a shop's crawler key, sent to that origin as `auth` is, and to no
            other, in no archive and no print. Where they sign (`Signature`), `identity` does not sign there. `Expires`,
            a date, is not sent: as with the `expires` of a `Signature-Input`, a warning comes in the two weeks before.
        resolve: addresses for host names, instead of DNS (as curl's `--resolve`).
        nameservers: DNS servers to use instead of the system's, `address` or `address:port` (needs comity[dns]).
        cache: file in which robots.txt files are kept for other processes and later runs, a new one or an earlier
            cache, which you alone can read; None: no cache. What is kept is used only by clients that reach hosts in
            the same way: with the same `verify_tls`, `ca_file`, `proxy`, `headers`, `resolve`, `nameservers`,
            `identity`, `sign`, `allow_addresses` and `allow_hosts`.
        cache_pages: whether pages are kept there too, and requested again conditionally (RFC 9110, 13).
        raw: whether a body that came with a content coding is kept as it came too (`Response.received`), as a crawl
            writes it to WARC and WACZ then.
        identity: folder of an identity (`comity identity new`), that signs requests; None: not signed.
        sign: `always`, `when_asked` (a 403 or 429 with Accept-Signature is answered by a signed request, and so are
            later requests to that origin) or `never`.
    """

    timeout: float | None = seconds(TIMEOUT_SECONDS, stricter="less")
    connect_timeout: float | None = seconds(None, stricter="less")
    read_timeout: float | None = seconds(None, stricter="less")
    head_timeout: float | None = seconds(None, stricter="less")
    robots_timeout: float | None = seconds(None, stricter="less")
    max_wait: float | None = seconds(MAX_WAIT, stricter="less")
    max_retries: int = setting(2, least=0, stricter="less")
    jitter: bool = setting(True, stricter="any")
    max_body: int = size(20 * MIB, stricter="less")
    max_ratio: float = setting(500.0, least=1, infinite=True, stricter="less")
    max_robots_body: int = size(MIB, least=500 * 1024)
    max_redirects: int = setting(10, least=0, stricter="less")
    content_types: tuple[str, ...] = setting((), normal=_types, stricter="any")
    connections: int = setting(100, least=1, stricter="less")
    verify_tls: bool = setting(True, stricter=(True, False))
    ca_file: str | None = setting(None, path=True, normal=_certificates)
    proxy: str | None = setting(None, secret=True, normal=_proxy)
    headers: Mapping[str, str] = setting(
        factory=dict, secret=True, normal=_headers, example='{"From": "me@example.org"}'
    )
    params: Mapping[str, str] = setting(factory=dict, secret=True, example='{"key": "value"}')
    auth: Mapping[str, tuple[str, str]] = setting(
        factory=dict, secret=True, normal=_auth, example='{"https://example.com": ["name", "password"]}'
    )
    licences: Mapping[str, str] = setting(
        factory=dict, secret=True, normal=_licences, example='{"https://example.com": "token"}'
    )
    origin_headers: Mapping[str, Mapping[str, str]] = setting(
        factory=dict,
        secret=True,
        normal=_origin_headers,
        example='{"https://example.com": {"X-Key": "value", "Expires": "2027-01-31"}}',
    )
    resolve: Mapping[str, str] = setting(factory=dict, normal=_addresses, example='{"example.test": "127.0.0.1"}')
    nameservers: tuple[str, ...] = setting((), normal=_nameservers)
    cache: str | None = setting(None, path=True, normal=_cache)
    cache_pages: bool = False
    raw: bool = setting(False, stricter="any")
    identity: str | None = setting(None, path=True, normal=_path)
    sign: Literal["always", "when_asked", "never"] = "always"

    def __post_init__(self) -> None:
        check(self)
        if (self.connect_timeout is None) != (self.read_timeout is None):
            unset = "connect_timeout" if self.connect_timeout is None else "read_timeout"
            raise InvalidSetting(f"{unset}: connect_timeout and read_timeout are set together, or only timeout is")
        for name in ("connect_timeout", "read_timeout", "head_timeout"):
            if (value := getattr(self, name)) is not None and value > self.most_seconds:
                raise InvalidSetting(
                    f"{name}: {value:g} s are never reached, because timeout ends a request after {self.timeout:g} s",
                    hint="raise timeout, or set it to none",
                )
        if self.cache_pages and self.cache is None:
            raise InvalidSetting("cache_pages: pages are kept in the file that `cache` names, and it names none")
        if both := self.auth.keys() & self.licences.keys():
            raise InvalidSetting(f"licences: to {min(both)} goes either a licence or what `auth` has, not both")
        for origin, headers in self.origin_headers.items():
            if origin in {*self.auth, *self.licences} and "authorization" in map(str.lower, headers):
                raise InvalidSetting(f"origin_headers: to {origin} goes either an Authorization or what `auth` has")

    @property
    def most_seconds(self) -> float:
        """`timeout` as a number."""
        return math.inf if self.timeout is None else self.timeout

    def credentials(self, origin: str) -> dict[str, str]:
        """Return the headers that an origin alone gets: name and password (RFC 7617) or licence (RSL, Crawler
        Authorization Protocol), and what `origin_headers` has for it; empty where there is nothing."""
        own = self.origin_headers.get(origin, {})
        found = {name: value for name, value in own.items() if name.lower() != "expires"}
        if origin in self.licences:
            found["Authorization"] = f"License {self.licences[origin]}"
        elif origin in self.auth:
            found["Authorization"] = "Basic " + b64encode(":".join(self.auth[origin]).encode()).decode("ascii")
        return found

    @property
    def signed_origins(self) -> frozenset[str]:
        """The origins whose requests carry a signature that `origin_headers` has."""
        return frozenset(
            origin for origin, headers in self.origin_headers.items() if "signature" in map(str.lower, headers)
        )

    def expiring(self, now: float) -> Iterator[str]:
        """Yield, in words, which `origin_headers` have expired or will within two weeks of `now` (Unix time)."""
        for origin, headers in self.origin_headers.items():
            at = expiry(headers)
            if at is not None and at - now < MIN_LIFE_SECONDS:
                expire = "expire" if at > now else "expired"
                day = datetime.fromtimestamp(at, UTC).date()
                yield f"origin_headers: those for {origin} {expire} on {day}: have new ones made"
