"""The regular expressions of the source, found in its syntax trees, and strings that are hard for each.

A string is hard where a matcher that backtracks has many ways to read it: what a repeat of the pattern may match, many
times, after what leads there, before what does not fit. How much longer a longer one takes says how the pattern grows.
"""

import ast
import builtins
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain, islice, product
from pathlib import Path
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]  # Python has no other reader of its patterns
from types import FrameType
from typing import Any, Final

import comity
import comity_pages
import comity_robots

ROOTS: Final = {
    "": Path(comity.__file__).parent,
    "comity_pages/": Path(comity_pages.__file__).parent,
    "comity_robots/": Path(comity_robots.__file__).parent,
}
USES: Final = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn")
_IMPORTS: Final = re.compile("^ *(?:import re|from re import)\\b", re.MULTILINE)
_ALSO: Final = "az\tAG09 _-./\n\xa0\u2003éÉ中¶!\0:,;\"'<>()[]{}\\#$*&%=@~|`+?\u200b"
ATTACKS: Final = 10  # of the repeated parts and what leads to them that are tried: those of all faults that were found
_SHORT, _LONG = 400, 1600
_STEEP: Final = 8.0  # 4 is linear, 16 is quadratic
_QUICK: Final = 40_000  # nanoseconds of the short string: no square of it is there yet


@dataclass(frozen=True)
class Pattern:
    """A regular expression where it is written, and the methods by which it is used: all, where that cannot be seen."""

    file: str
    line: int
    name: str
    text: str | bytes
    flags: int
    uses: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.file}:{self.name}"


class Unknown(Exception):
    """A pattern that is put together from what only a call knows."""


def found(examples: dict[str, dict[str, Any]]) -> list[Pattern]:
    """Every pattern of the source. `examples` gives local names of those that a function puts together, by key."""
    texts = {
        package + file.relative_to(root).as_posix(): file.read_text()
        for package, root in ROOTS.items()
        for file in sorted(root.rglob("*.py"))
        if file.name != "_building.py"  # reads our own README
    }
    return [each for file, text in texts.items() if _IMPORTS.search(text) for each in _of(file, texts, examples)]


def _uses(name: str, file: str, texts: dict[str, str]) -> tuple[str, ...]:
    """The methods that are called on a pattern of this name, in its module and where it is imported."""
    called = re.compile(rf"\b{re.escape(name)}\.({'|'.join(USES)})\b")
    imported = re.compile(rf"^(?:from comity.*import.*\b{re.escape(name)}\b|    {re.escape(name)},$)", re.MULTILINE)
    own = called.findall(texts[file])
    others = [called.findall(text) for text in texts.values() if name in text and imported.search(text)]
    return tuple(sorted({*own, *chain.from_iterable(others)})) or USES


def _of(file: str, texts: dict[str, str], examples: dict[str, dict[str, Any]]) -> Iterator[Pattern]:
    tree = ast.parse(texts[file])
    parents: dict[ast.AST, ast.AST] = {}
    calls: list[ast.Call] = []
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            parents[child] = node
        if isinstance(node, ast.ImportFrom) and node.module == "re":
            raise Unknown(f"{file} imports names from re: write re.compile")
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).startswith("re."):
            calls.append(node)
    count: dict[str, int] = {}
    for node in sorted(calls, key=lambda node: node.lineno):
        method = ast.unparse(node.func).removeprefix("re.")
        if method not in (*USES, "compile"):
            continue
        name = _name(node, parents)
        above = parents[node]
        if method != "compile":
            uses: tuple[str, ...] = (method,)
        elif isinstance(above, ast.Attribute):
            uses = (above.attr,)
        elif isinstance(above, ast.Assign | ast.AnnAssign):
            uses = _uses(name, file, texts)
        else:
            uses = USES
        count[name] = count.get(name, 0) + 1
        label = name if count[name] == 1 else f"{name}#{count[name]}"
        names = _Names(file, examples.get(f"{file}:{label}", {}))
        place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(method, 2)
        given = next((each.value for each in node.keywords if each.arg == "flags"), None)
        flags = node.args[place] if len(node.args) > place else given
        yield Pattern(
            file, node.lineno, label, _value(node.args[0], names), int(_value(flags, names) if flags else 0), uses
        )


def _name(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """What the pattern is assigned to; else the function or the assignment that it stands in."""
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return f"{node.name}()"
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            return node.target.id
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return node.targets[0].id
    return "module"


class _Names(dict[str, Any]):
    """What a name means in a module, which is imported where it has to be."""

    def __init__(self, file: str, local: dict[str, Any]) -> None:
        super().__init__(vars(builtins) | {"re": re} | local)
        self._file = file

    def __missing__(self, name: str) -> Any:
        return vars(_module(self._file))[name]


@cache
def _module(file: str) -> Any:
    file = file if file.startswith(("comity_pages/", "comity_robots/")) else f"comity/{file}"
    return import_module(file.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))


def _value(node: ast.expr, names: _Names) -> Any:
    try:
        value = eval(compile(ast.Expression(node), "pattern", "eval"), {"__builtins__": {}}, names)
    except Exception as error:
        raise Unknown(f"{ast.unparse(node)}: {error!r}") from error
    return value.pattern if isinstance(value, re.Pattern) else value


class _Tree:
    """A parsed pattern, the characters that it tells apart, and words of its parts."""

    def __init__(self, pattern: Pattern) -> None:
        self.octets = isinstance(pattern.text, bytes)
        self.flags = pattern.flags
        self.parsed = _parser.parse(pattern.text, pattern.flags)
        self.state = self.parsed.state
        self._of: dict[int, frozenset[str]] = {}
        nodes = list(self._characters(self.parsed))
        pool = dict.fromkeys(chain(self._literals(self.parsed), _ALSO))
        told: dict[tuple[bool, ...], str] = {}
        matchers = [self._matcher(node) for node in nodes]
        for each in pool:
            if self.octets and ord(each) > 255:
                continue
            word = each.encode("latin-1") if self.octets else each
            told.setdefault(tuple(matcher(word) is not None for matcher in matchers), each)
        self.alphabet = list(told.values())
        for node, matcher in zip(nodes, matchers, strict=True):
            self._of[id(node)] = frozenset(
                each for each in self.alphabet if matcher(each.encode("latin-1") if self.octets else each)
            )
        self._kept = nodes  # whose identities are the keys

    def _matcher(self, node: Any) -> Any:
        return _compiler.compile(_parser.SubPattern(self.state, [node]), self.state.flags).fullmatch

    def _characters(self, items: Any) -> Iterator[Any]:
        for node in _walk(items):
            if node[0] in (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN):
                yield node

    def _literals(self, items: Any) -> Iterator[str]:
        for op, value in self._characters(items):
            if op in (_constants.LITERAL, _constants.NOT_LITERAL):
                yield chr(value)
            elif op is _constants.IN:
                for kind, each in value:
                    if kind is _constants.LITERAL:
                        yield chr(each)
                    elif kind is _constants.RANGE:
                        yield from map(chr, each)

    def words(self, items: Any, most: int) -> list[str]:
        """Some words that a part matches, as far as its assertions do not matter."""
        made = [""]
        for op, value in items:
            made = [left + right for left, right in islice(product(made, self._words(op, value, items, most)), most)]
        return made

    def _words(self, op: Any, value: Any, items: Any, most: int) -> list[str]:
        if op in (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN):
            node = next(each for each in items if each[1] is value or each == (op, value))
            return sorted(self._of[id(node)])[:most] or [""]
        if op is _constants.SUBPATTERN:
            return self.words(value[-1], most)
        if op is _constants.ATOMIC_GROUP:
            return self.words(value, most)
        if op is _constants.BRANCH:
            return list(islice(chain.from_iterable(self.words(each, 2) for each in value[1]), most * 2))
        if op in _REPEATS:
            least, _, body = value
            one = self.words(body, most)
            return list(
                dict.fromkeys(each * max(least, few) for few in ((0, 1) if least == 0 else (1,)) for each in one)
            )[:most]
        return [""]

    def repeats(self, items: Any, before: list[str]) -> Iterator[tuple[list[str], Any]]:
        """The repeats without an end, each with words that lead to it."""
        for at, (op, value) in enumerate(items):
            lead = [left + right for left in before[:3] for right in self.words(items[:at], 3)][:6] or before
            if op in _REPEATS:
                _, most, body = value
                if most > 30:
                    yield lead, body
                yield from self.repeats(body, lead)
            elif op is _constants.SUBPATTERN:
                yield from self.repeats(value[-1], lead)
            elif op is _constants.ATOMIC_GROUP:
                yield from self.repeats(value, lead)
            elif op is _constants.BRANCH:
                for each in value[1]:
                    yield from self.repeats(each, lead)
            elif op in (_constants.ASSERT, _constants.ASSERT_NOT):
                yield from self.repeats(value[1], lead)


_REPEATS: Final = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)


def _walk(items: Any) -> Iterator[Any]:
    for node in items:
        op, value = node
        yield node
        if op in _REPEATS:
            yield from _walk(value[2])
        elif op is _constants.SUBPATTERN:
            yield from _walk(value[-1])
        elif op is _constants.ATOMIC_GROUP:
            yield from _walk(value)
        elif op is _constants.BRANCH:
            for each in value[1]:
                yield from _walk(each)
        elif op in (_constants.ASSERT, _constants.ASSERT_NOT):
            yield from _walk(value[1])


def attacks(pattern: Pattern, most: int) -> list[tuple[str, str, str]]:
    """Beginnings, what to repeat, and ends of hard strings; `most` says how many of each are tried."""
    tree = _Tree(pattern)
    made: dict[tuple[str, str, str], None] = {}
    for lead, body in tree.repeats(tree.parsed, [""]):
        for pump in dict.fromkeys(each for each in tree.words(body, most) if each):
            ends = ["", *[each for each in "\0a\n(#" if each not in pump]]
            for before in dict.fromkeys(["", *lead[: most // 5]]):
                made.update({(before, pump, end): None for end in ends})
                if before:
                    made.update({("", each, ends[-1]): None for each in (before, before + pump, pump + before)})
    return list(made)


def superlinear(pattern: Pattern, most: int, seconds: float = 10) -> tuple[str, tuple[str, str, str], float] | None:
    """A use and a string for which the pattern takes more than its length allows, and how many times as long a string
    of four times the length takes, infinity where it was given up after `seconds`; None where there is none."""
    octets = isinstance(pattern.text, bytes)
    for attack, (name, use) in product(attacks(pattern, most), _ways(pattern).items()):
        grown = _growth(use, attack, seconds, octets=octets)
        if grown >= _STEEP:
            return name, attack, grown
    return None


def hangs(pattern: Pattern, length: int, most: int) -> bool:
    """Whether one of the strings of a length takes seconds."""
    octets = isinstance(pattern.text, bytes)
    try:
        with _given_up(10):
            for attack, use in product(attacks(pattern, most), _ways(pattern).values()):
                use(_text(attack, length, octets=octets))
    except _TooLong:
        return True
    return False


def _ways(pattern: Pattern) -> dict[str, Any]:
    """The uses of a pattern that differ in what they try."""
    compiled = re.compile(pattern.text, pattern.flags)
    ways = {
        "match": compiled.match,
        "fullmatch": compiled.fullmatch,
        "finditer": lambda text: sum(1 for _ in compiled.finditer(text)),
    }
    return {name: ways[name] for name in sorted({use if use in ways else "finditer" for use in pattern.uses})}


class _TooLong(Exception):
    pass


@contextmanager
def _given_up(after: float) -> Iterator[None]:
    """End what takes so many seconds of processor time; in the main thread, for matching looks for signals there."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _text(attack: tuple[str, str, str], length: int, *, octets: bool) -> str | bytes:
    begin, pump, end = attack
    made = begin + pump * (length // len(pump)) + end
    return made.encode("latin-1", "replace") if octets else made


def _took(use: Any, text: str | bytes) -> int:
    began = time.thread_time_ns()
    use(text)
    return time.thread_time_ns() - began


def _growth(use: Any, attack: tuple[str, str, str], seconds: float, *, octets: bool) -> float:
    short, long = (_text(attack, length, octets=octets) for length in (_SHORT, _LONG))
    try:
        with _given_up(seconds):
            least = _took(use, short)
            if least < _QUICK:
                return 0.0
            most = _took(use, long)
            for _ in range(5):  # what else the machine does makes both longer
                if most < _STEEP * least:
                    break
                least, most = min(_took(use, short) for _ in range(5)), min(_took(use, long) for _ in range(3))
    except _TooLong:
        return float("inf")
    return most / least
