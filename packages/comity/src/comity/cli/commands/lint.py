"""`comity lint`: what is wrong, useless or surprising in files on disk and in the robots.txt of sites."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from comity.cli.exits import Exit
from comity.cli.input_files import check_stdin_once
from comity.cli.options import JSON, READING, argument, command, completed, loaded, option, refuse
from comity.cli.robots_files import Source, annotation, read_all
from comity.cli.terminal import count_noun, error_line, print_err, print_json, print_out
from comity.errors import ComityError, InputError, InvalidSetting, InvalidURL, RobotsUnreachable
from comity.frontier.durable import write_named
from comity_robots import Robots, parse
from comity_robots.lint import CODES, SEVERITIES, Finding, collapsed, fixed

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_MAX_FIX_ROUNDS: Final = 10  # a fix may show what another one hid
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}  # SARIF's
_COLOURS: Final = {"error": "red", "warning": "yellow", "info": "cyan"}
_LINES_SHOWN: Final = 10
Found = list[tuple[Source, tuple[Finding, ...]]]


def _complete_code(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    return completed([*CODES, *SEVERITIES], incomplete)


@command("Write a robots.txt")
@argument("target", "FILE|SITE...")
@option("--format form", ("text", "github", "sarif", "json"), "How findings are printed.", otherwise="text")
@option(
    "--select", "CODE", "Only these findings: codes, error, warning or info.",
    multiple=True, shell_complete=_complete_code,
)  # fmt: skip
@option("--ignore", "CODE", "All but these findings.", multiple=True, shell_complete=_complete_code)
@option("--fail-on", (*SEVERITIES, "never"), "The least severity that makes the exit code 2.", default="error")
@option("--fix", None, "Write fixes after which every parser reads the same.")
@option("--unsafe-fixes", None, "Write all fixes, those that change what is read too.")
@READING
@JSON
def lint(
    target: tuple[str, ...],
    form: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    fix: bool,
    unsafe_fixes: bool,
    as_json: bool,
    **options: Any,
) -> Exit:
    """Find mistakes in robots.txt files.

    A file, the address of a site, or '-' for standard input. Exit code 2: there are errors (see --fail-on), 3: a site
    could not be reached.
    """
    if form not in (None, "json"):
        refuse(f"has no effect with --format {form}", "as_json")
    wanted = _codes(select, "--select") or set(CODES)
    wanted -= _codes(ignore, "--ignore")
    check_stdin_once([Path(each) for each in target])
    configuration = loaded(**options)
    found: Found = []
    unread: list[ComityError] = []
    mended = 0
    for each in target:
        try:
            (source,) = read_all([each], configuration)
        except (InputError, InvalidURL, RobotsUnreachable) as error:
            unread.append(error)  # the others are linted all the same
            continue
        if source.missing:
            print_err(f"{source.name}: {source.missing}")
        if fix or unsafe_fixes:
            source, count = _mended(source, wanted, unsafe=unsafe_fixes)
            mended += count
        found.append((source, _findings(source.robots, wanted)))
    if unread and not found:
        raise unread[0]
    _FORMS[form or ("json" if as_json else "text")](found)
    every = [finding for _, findings in found for finding in findings]
    if form in (None, "text", "github") and not as_json:
        print_err(_summary(every, mended, fix or unsafe_fixes, unsafe_fixes))
    for other in unread[1:]:
        error_line(str(other))
    if unread:
        raise unread[0]
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on != "never" else ()
    return Exit.PARTLY if any(finding.severity in failing for finding in every) else Exit.DONE


def _codes(given: Sequence[str], option: str) -> set[str]:
    """Return the codes that words stand for; InvalidSetting if one is neither a code nor a severity."""
    found: set[str] = set()
    for word in (word.strip() for words in given for word in words.split(",")):
        named = {code for code, (severity, _) in CODES.items() if word in (code, severity)}
        if not named:
            from difflib import get_close_matches  # late: few slip

            near = get_close_matches(word, CODES, 1)
            hint = f"did you mean {near[0]}?" if near else "docs/lint.md lists them"
            raise InvalidSetting(f"{option}: {word!r} is not a code of a finding", hint=hint)
        found |= named
    return found


def _findings(robots: Robots, wanted: set[str]) -> tuple[Finding, ...]:
    return tuple(finding for finding in robots.lint() if finding.code in wanted)


def _mended(source: Source, wanted: set[str], *, unsafe: bool) -> tuple[Source, int]:
    """Fix a source and rewrite its file; return it with the number of fixes."""
    if source.path is None:
        raise InvalidSetting(f"--fix: {source.name} is not a file", hint="save it, and name the file")
    robots, count = source.robots, 0
    for _ in range(_MAX_FIX_ROUNDS):
        findings = _findings(robots, wanted)
        body = fixed(robots, findings, unsafe=unsafe)
        if body == robots.body:
            break
        count += len({finding.line for finding in findings if _fixable(finding, unsafe)})
        robots = parse(body, robots.dialect)
    if robots.body != source.robots.body:
        write_named(source.path, robots.body)
    return Source(source.name, robots, source.path), count


def _fixable(finding: Finding, unsafe: bool) -> bool:
    return finding.replacement is not None and (unsafe or not finding.changes)


def _summary(findings: Sequence[Finding], mended: int, fix: bool, unsafe: bool) -> str:
    counts = Counter(finding.severity for finding in findings)
    parts = [count_noun(counts["error"], "error"), count_noun(counts["warning"], "warning"), f"{counts['info']:,} info"]
    text = ", ".join(parts) if findings else "no findings"
    if fix:
        text += f"; {mended:,} fixed"
    safe = sum(_fixable(finding, False) for finding in findings)
    more = sum(_fixable(finding, True) for finding in findings) - safe
    if safe and not fix:
        text += f"; {safe:,} can be fixed with --fix"
    if more and not unsafe:
        text += f"; {more:,} {'more ' if safe and not fix else ''}with --unsafe-fixes, which change what is read"
    return text


def _in_words(finding: Finding, others: tuple[int, ...]) -> str:
    """Format a finding in one line, with the lines of the findings it stands for."""
    advice = f"write {finding.suggestion}" if finding.suggestion == finding.replacement else finding.suggestion
    changes = " (changes what is read)" if finding.changes and finding.replacement is not None else ""
    more = ""
    if others:
        shown = ", ".join(map(str, others[:_LINES_SHOWN])) + (", ..." if len(others) > _LINES_SHOWN else "")
        more = f" [and {count_noun(len(others), 'more line')}: {shown}]"
    return f"{finding.message}; {advice}{changes}{more}"


def _as_text(found: Found) -> None:
    for source, findings in found:
        for finding, others in collapsed(findings):
            place = f"{source.name}:{finding.line}: {finding.severity}"
            words = f": {finding.code} {_in_words(finding, others)}"
            print_out(words, lead=place, colour=_COLOURS[finding.severity], indent=4)


def _as_annotations(found: Found) -> None:
    for source, findings in found:
        for finding, others in collapsed(findings):
            level = "notice" if finding.severity == "info" else finding.severity
            print_out(annotation(level, source.name, finding.line, finding.code, _in_words(finding, others)))


def _as_json(found: Found) -> None:
    each = ((source.name, finding) for source, findings in found for finding in findings)
    print_json([{"file": name, "severity": finding.severity, **asdict(finding)} for name, finding in each])


def _as_sarif(found: Found) -> None:
    """Static Analysis Results Interchange Format 2.1.0 (OASIS)."""
    import comity

    rules, results = [], []
    for code, (severity, meaning) in CODES.items():
        level = {"level": _LEVELS[severity]}
        rules.append({"id": code, "shortDescription": {"text": meaning}, "defaultConfiguration": level})
    for source, findings in found:
        for finding in findings:
            place = {"artifactLocation": {"uri": source.name}, "region": {"startLine": finding.line}}
            results.append(
                {
                    "ruleId": finding.code,
                    "ruleIndex": list(CODES).index(finding.code),
                    "level": _LEVELS[finding.severity],
                    "message": {"text": _in_words(finding, ())},
                    "locations": [{"physicalLocation": place}],
                }
            )
    driver = {"name": "comity", "version": comity.__version__, "rules": rules}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    runs = [{"tool": {"driver": driver}, "results": results}]
    print_json({"$schema": schema, "version": "2.1.0", "runs": runs})


_FORMS: Final[dict[str, Callable[[Found], None]]] = {
    "text": _as_text,
    "github": _as_annotations,
    "sarif": _as_sarif,
    "json": _as_json,
}
