"""RFC 9309 as plainly as it can be written: what the engine must agree with. Slow, and never used but in tests."""

import re

UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"


def allowed(body: str, path: str, product: str) -> bool:
    """Whether a product token may fetch a path (2.2)."""
    if path == "/robots.txt":
        return True
    groups: list[tuple[list[str], list[tuple[bool, str]]]] = []
    collecting = False
    for line in re.split(r"\r\n|\r|\n", body):
        label, colon, value = line.partition("#")[0].partition(":")
        label, value = label.strip(" \t").lower(), value.strip(" \t")
        if not colon:
            continue
        if label == "user-agent":
            if not collecting:
                groups.append(([], []))
            groups[-1][0].append(re.sub(r"[ ]\d\S*$", "", value.split("/")[0].strip()).strip().lower())
            collecting = True
        elif label in ("allow", "disallow"):
            collecting = False
            if groups and value:
                groups[-1][1].append((label == "allow", value))
    ours = [rules for agents, rules in groups if product.lower() in agents]
    chosen = ours or [rules for agents, rules in groups if "*" in agents]
    best = (0, True)
    for allow, pattern in (rule for rules in chosen for rule in rules):
        normal = normalised(pattern, pattern=True)
        if expression(normal).match(normalised(path, pattern=False)):
            best = max(best, (len(normal), allow))
    return best[1]


def normalised(text: str, *, pattern: bool) -> str:
    """Percent-encoded as 2.2.2 and 2.2.3 ask for comparison."""
    out = []
    octets = text.encode()
    position = 0
    while position < len(octets):
        escape = re.match(rb"%([0-9A-Fa-f]{2})", octets[position:])
        if escape:
            char = chr(int(escape[1], 16))
            out.append(char if char in UNRESERVED else f"%{ord(char):02X}")
            position += 3
            continue
        char = chr(octets[position])
        position += 1
        special = (char == "*" and not pattern) or (char == "$" and not (pattern and position == len(octets)))
        illegal = ord(char) > 126 or ord(char) < 33 or char in '"<>\\^`{|}'  # in no URL (RFC 3986, 2)
        out.append(f"%{ord(char):02X}" if special or illegal else char)
    return "".join(out)


def expression(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression; only for short patterns, which cannot run away."""
    end = pattern.endswith("$")
    runs = (pattern[:-1] if end else pattern).split("*")
    return re.compile(".*".join(re.escape(run) for run in runs) + (r"\Z" if end else ""), re.DOTALL)
