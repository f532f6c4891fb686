"""Coverage-guided fuzzing of the robots engine (atheris). `make fuzz SECONDS=3600`.

The input is a file, an agent and a path. What must hold: nothing raises, the search agrees with trying every rule,
the file comes back unchanged, line numbers lie in the file, and the RFC's own dialect agrees with the oracle that the
tests use.
"""

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parents[1] / "packages" / "robots" / "tests"))

with atheris.instrument_imports(include=["comity_robots"]):
    from comity.errors import InvalidURL
    from comity_robots import DIALECTS, parse

import oracle

NAMES = list(DIALECTS)


def test_one(data: bytes) -> None:
    """One input: first octet the dialect, then agent, path and file, divided by 0xFF."""
    if len(data) < 3:
        return
    dialect = NAMES[data[0] % len(NAMES)]
    agent_octets, _, rest = data[1:].partition(b"\xff")
    path_octets, _, body = rest.partition(b"\xff")
    agent = agent_octets.decode("latin-1")
    path = path_octets.decode("utf-8", "surrogateescape")
    robots = parse(body, dialect)
    for url in (path, "https://example.com/" + path):
        try:
            match = robots.explain(url, agent)
        except InvalidURL:  # what is neither a URL nor a path
            continue
        for _ in range(3):  # the first question is answered another way than the next
            assert match.allowed == robots.allowed(url, agent), (dialect, url, agent, body)
    assert bytes(robots) == body
    lines = robots.lines
    assert "".join(line.raw for line in lines).encode("utf-8", "surrogateescape") == body
    assert all(1 <= record.line <= len(lines) for record in robots.records())
    assert all(1 <= rule.line <= len(lines) for group in robots.groups for rule in group.rules)
    assert isinstance(robots.parsable, bool)
    assert all(1 <= finding.line <= max(len(lines), 1) for finding in robots.lint())
    delay = robots.crawl_delay(agent)
    assert delay is None or delay >= 0
    _compare_with_oracle(robots.allowed if dialect == "rfc9309" else None, body, path)


def _compare_with_oracle(allowed: object, body: bytes, path: str) -> None:
    if not callable(allowed) or len(body) > 400 or body.count(b"*") > 8 or b"\x00" in body:
        return
    try:
        text = body.decode("ascii")
        path.encode("ascii")
    except UnicodeError:
        return
    if any(char in text + path for char in "\x0b\x0c\x1c\x1d\x1e\x85") or "#" in path or "//" in path:
        return
    path = "/" + path.lstrip("/")
    assert allowed("https://example.com" + path, "MyBot") == oracle.allowed(text, path, "MyBot"), (path, body)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one)
    atheris.Fuzz()
