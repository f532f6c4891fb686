"""`comity inspect`: what a site says before any page of it is fetched: robots.txt, llms.txt, uses of its content.

Of a crawl's folder: what it learned of the sites.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comity import client
from comity.cli.exits import Exit
from comity.cli.input_files import is_file, is_folder, read, site_url
from comity.cli.options import JSON, PRESET, READING, STORE, argument, command, loaded, option
from comity.cli.robots_files import note_agents
from comity.cli.terminal import print_json, print_out, report_missing
from comity.identity.practices import practices
from comity_pages import urls
from comity_robots import parse
from comity_robots.usage.statements import PURPOSES, USE

if TYPE_CHECKING:
    from comity.configuration import Configuration
    from comity.policy import Policy
    from comity.policy.robots_result import RobotsResult

_MAX_VALUES_SHOWN = 20


@command("Check URLs")
@argument("url", "[URL|FILE|DIR]...")
@option("--self ourselves", None, "Check your settings against the best practices for crawlers.")
@PRESET
@READING
@STORE
@JSON
def inspect(url: tuple[str, ...], ourselves: bool, store: str | None, as_json: bool, **options: Any) -> Exit:
    """Show what sites say: robots.txt, llms.txt, usage terms.

    With a crawl's folder: the robots.txt that it last read from each site; with a file: what it says as a robots.txt.
    Nothing is sent then. Exit code 3: a robots.txt could not be reached.
    """
    if bool(url) is ourselves:
        raise click.UsageError("name URLs, the folder of a crawl, or --self")
    if url and any(folders := [is_folder(each) for each in url]):
        if not all(folders):
            raise click.UsageError("name either URLs or the folders of a crawl")
        return _learned([Path(each) for each in url], store, as_json=as_json)
    if store is not None:
        raise click.UsageError("--store goes with the folders of a crawl")
    if url and any(files := [is_file(each) for each in url]):
        if not all(files):
            raise click.UsageError("name either URLs or files")
        policy = loaded(**options).policy
        _show([_of_file(Path(each), policy) for each in url], _robots_in_words, as_json=as_json)
        return Exit.DONE
    if ourselves:
        return _practices(loaded(**options), as_json=as_json)
    import asyncio

    targets = [urls.normalise(site_url(target) or target) for target in url]
    found = asyncio.run(_asked(targets, loaded(**options)))
    _show(found, _site_in_words, as_json=as_json)
    unreachable = any(each["decision"]["verdict"] == "unknown_unreachable" for each in found)
    return Exit.NOT_READY if unreachable else Exit.DONE


def _show(found: Sequence[dict[str, Any]], in_words: Callable[[dict[str, Any]], list[str]], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    for number, each in enumerate(found):
        if number:
            print_out("")
        for line in in_words(each):
            print_out(line)


def _practices(configuration: "Configuration", *, as_json: bool) -> Exit:
    from dataclasses import asdict

    found = practices(configuration.policy, configuration.client)
    if as_json:
        print_json([asdict(each) for each in found])
    for each in () if as_json else found:
        print_out(f"{'yes' if each.kept else 'no':5}{each.name:28}{each.how}")
    return Exit.DONE


def _learned(folders: Sequence[Path], store: str | None, *, as_json: bool) -> Exit:
    """Print the robots.txt that a crawl last read from each site."""
    from comity.audit.evidence import robots_files
    from comity.crawler.storage.open_crawl import open_crawl
    from comity.policy import Policy

    opened = open_crawl(folders, store)
    crawl, policy = opened.output(), opened.config().policy or Policy()
    last = robots_files(crawl.parts, policy)
    found = [_facts(each.origin, each, policy, f"{each.origin}/") for each in last]
    _show(found, _robots_in_words, as_json=as_json)
    return report_missing(crawl.absent)


def _of_file(file: Path, policy: "Policy") -> dict[str, Any]:
    """Return what a file says that was not fetched."""
    from comity.policy import RobotsResult

    url = "https://example.com/"  # stands for its site, whose name no rule has
    result = RobotsResult.from_response(url, str(file), 200, read(file), policy=policy, fetched_at=time.time())
    note_agents([policy.agent], result.robots)
    found = _facts(str(file), result, policy, url)
    found["robots"]["status"] = None  # nobody answered
    return found


async def _asked(targets: Sequence[str], configuration: "Configuration") -> list[dict[str, Any]]:
    policy = configuration.policy
    async with client.AsyncClient(policy, configuration.client) as asking:
        return [await _site(asking, url, policy) for url in targets]


async def _site(asking: client.AsyncClient, url: str, policy: "Policy") -> dict[str, Any]:
    from comity.retrieve import llms_txt

    decision, origin = await asking.check(url), urls.origin(url)
    result = asking.inspect().get(origin)
    note_agents([policy.agent], *([] if result is None else [result.robots]))
    llms, manifest = await llms_txt(asking, origin)
    return {
        **_facts(origin, result, policy, decision.url),
        "decision": decision.to_dict(),
        "llms": {
            **{name: getattr(manifest, name) for name in ("url", "status", "problem", "sha256")},
            "title": llms.title if llms is not None else None,
            "summary": llms.summary if llms is not None else None,
            "links": [
                {"name": link.name, "url": link.url, "notes": link.notes, "section": section.name}
                for section in (llms.sections if llms is not None else ())
                for link in section.links
            ],
        },
    }


def _facts(origin: str, result: "RobotsResult | None", policy: "Policy", url: str) -> dict[str, Any]:
    """Return what a robots.txt says, and which of it applies to us."""
    from comity.policy import decide

    decision = decide(policy, url, result)
    robots, agent = parse(b"") if result is None else result.robots, policy.asked_as
    ours = robots.explain(url, agent).group
    facts = {
        "outcome": result.kind if result is not None else "not fetched",
        **{name: getattr(result, name, None) for name in ("url", "status", "error", "sha256")},
        "groups": len(robots.groups),
        "agents": list(dict.fromkeys(agent for group in robots.groups for agent in group.agents)),
        "rules": sum(len(group.rules) for group in robots.groups),
        "our_group": list(ours.agents) if ours is not None else None,
        "crawl_delay": robots.crawl_delay(agent),
        "request_rate": [record.value for record in robots.records_for(agent, "request-rate")],  # as written
        "visit_time": [record.value for record in robots.records_for(agent, "visit-time")],
        "sitemaps": list(robots.sitemaps),
        "licences": [licence.url for licence in robots.usage(url, agent).terms],
    }
    uses = {purpose: decision.explain_usage(purpose) for purpose in (*PURPOSES, USE)}
    return {"origin": origin, "robots": facts, "usage": uses}


def _robots_in_words(site: dict[str, Any]) -> list[str]:
    robots = site["robots"]
    status = f" (HTTP {robots['status']})" if robots["status"] is not None else ""
    lines = [
        site["origin"],
        f"  robots.txt  {robots['outcome']}{status}{': ' + robots['error'] if robots['error'] else ''}",
    ]
    if robots["outcome"] == "read":
        ours = ", ".join(robots["our_group"]) if robots["our_group"] else "no group applies to us"
        lines.append(f"  groups      {robots['groups']:,}; ours: {ours}")
        lines.append(f"  rules       {robots['rules']:,}")
        shown = ", ".join(robots["agents"][:_MAX_VALUES_SHOWN])
        more = (
            f" and {len(robots['agents']) - _MAX_VALUES_SHOWN} more"
            if len(robots["agents"]) > _MAX_VALUES_SHOWN
            else ""
        )
        lines.append(f"  agents      {shown or 'none'}{more}")
    if robots["crawl_delay"] is not None:
        lines.append(f"  delay       {robots['crawl_delay']:,.10g} s between requests")
    lines += _some("rate        ", robots["request_rate"])
    lines += _some("hours (UTC) ", robots["visit_time"])
    lines += _some("sitemap     ", robots["sitemaps"])
    lines += _some("licence     ", robots["licences"])
    return lines + _some("usage       ", list(site["usage"].values()))


def _site_in_words(site: dict[str, Any]) -> list[str]:
    llms, decision, lines = site["llms"], site["decision"], _robots_in_words(site)
    problem = f" ({llms['problem']})" if llms["title"] and llms["problem"] else ""
    lines.append(f"  llms.txt    {llms['title'] or llms['problem'] or 'has no title'}{problem}")
    if llms["summary"]:
        lines.append(f"              {' '.join(llms['summary'].split())[:300]}")
    lines += _some("link        ", [f"{link['url']}  {link['name']}" for link in llms["links"]])
    word = "allowed" if decision["may_fetch"] else "disallowed"
    lines.append(f"  this URL    {word} for {decision['agent']}: {decision['why']}")
    return lines


def _some(label: str, values: Sequence[str]) -> list[str]:
    lines = [f"  {label}{value}" for value in values[:_MAX_VALUES_SHOWN]]
    if len(values) > _MAX_VALUES_SHOWN:
        lines.append(f"  {label}and {len(values) - _MAX_VALUES_SHOWN} more; --json has them all")
    return lines
