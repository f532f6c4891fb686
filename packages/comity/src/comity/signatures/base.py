"""The signature base: which parts of a request a signature covers, and how they are written (RFC 9421, 2)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from comity_pages import urls

TAG: Final = "web-bot-auth"
Parameters = Mapping[str, Any]
Component = tuple[str, Parameters]
Covered = Sequence[Component]
_SENT: Final = re.compile(r'([^/?#\\]*)([/?][!"$-~]*)?')
"""An authority, then path and query as a request line holds them."""


class Uncovered(ValueError):
    """A component that a signature covers is not in the request, or cannot be read here."""


def joined(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return fields by their name in lower case, several of one name joined by a comma."""
    found: dict[str, list[str]] = {}
    for name, value in fields:
        found.setdefault(name.strip().lower(), []).append(value.strip())
    return {name: ", ".join(values) for name, values in found.items()}


def structured(text: str) -> dict[str, Any]:
    """Return a field that is a dictionary (RFC 9651). Raises ValueError: it is not one."""
    import http_sf  # late: few runs sign

    try:
        found: Any = http_sf.parse(text.encode("utf-8", "surrogatepass"), tltype="dictionary")
    except (ValueError, TypeError, IndexError, RecursionError) as error:
        raise ValueError(f"not a dictionary: {error}") from None
    return dict(found)


def serialised(value: Any) -> str:
    """Return an item or inner list as a field has it (RFC 9651, 4.1)."""
    import http_sf

    if isinstance(value, tuple) and isinstance(value[0], list):
        return str(http_sf.ser([value]))  # a list of one is written as that one
    return str(http_sf.ser(value))


def base(method: str, url: str, fields: Mapping[str, str], covered: Covered, parameters: Parameters) -> bytes:
    """Return what is signed (RFC 9421, 2.5).

    Args:
        url: absolute, as `requested` gives it.
        fields: the request's fields by their name in lower case, several of one name joined by a comma.

    Raises:
        Uncovered
    """
    lines = []
    seen = set()
    parsed: dict[str, dict[str, Any]] = {}
    for name, having in covered:
        identifier = serialised((name, dict(having)))
        if identifier in seen:
            raise Uncovered(f"{identifier} is covered twice")  # RFC 9421, 2.5
        seen.add(identifier)
        value = _value(name, having, method, url, fields, parsed)
        if "\n" in value or "\r" in value:
            raise Uncovered(f"{identifier} has a line end, so one base could stand for two requests")
        lines.append(f"{identifier}: {value}")
    ending = serialised((list(covered), dict(parameters)))
    lines.append(f'"@signature-params": {ending}')
    return "\n".join(lines).encode("utf-8")


def _value(
    name: str,
    having: Parameters,
    method: str,
    url: str,
    fields: Mapping[str, str],
    parsed: dict[str, dict[str, Any]],
) -> str:
    """Return the value of a component.

    Args:
        parsed: the fields that were read as dictionaries, each once, for a signature may cover many members of one.
    """
    parts = derived(name, method, url) if not having else None
    if parts is not None:
        return parts
    if name.startswith("@") or set(having) - {"key"}:
        raise Uncovered(f"{serialised((name, dict(having)))} cannot be read here")
    if name not in fields:
        raise Uncovered(f"the request has no field {name}")
    if "key" not in having:
        return fields[name].strip()
    try:  # one member of a dictionary (RFC 9421, 2.1.2)
        if name not in parsed:
            parsed[name] = structured(fields[name])
        return serialised(parsed[name][having["key"]])
    except (ValueError, KeyError):
        raise Uncovered(f"{name} has no member {having['key']}") from None


def derived(name: str, method: str, url: str) -> str | None:
    """Return the derived components of a request (RFC 9421, 2.2)."""
    _, _, rest = url.partition("://")
    authority, _, after = rest.partition("/")  # in normal form there is always one
    path, mark, query = after.partition("?")
    match name:
        case "@method":
            return method
        case "@authority":
            return authority  # normal form: lower case, without the scheme's own port
        case "@scheme":
            return url.partition(":")[0]
        case "@target-uri":
            return url
        case "@path":
            return f"/{path}"
        case "@query":
            return f"?{query}"
        case "@request-target":
            return f"/{path}{mark}{query}"
    return None


def requested(url: str) -> str:
    """Return a request's URL as signatures cover it: the authority in normal form, path and query as they were sent,
    for an application answers what was sent (RFC 9421, 2.2.6; RFC 3986, 6.2.1).

    Raises:
        InvalidURL
        Uncovered: no request is sent with such a path.
    """
    scheme, colon, rest = url.partition("://")
    found = _SENT.fullmatch(rest)
    if found is None:
        raise Uncovered(f"{url!r:.100} is not what a request is sent with: path and query percent-encoded, no fragment")
    authority, target = found.groups("")
    return urls.origin(f"{scheme}{colon}{authority}") + (target if target.startswith("/") else f"/{target}")
