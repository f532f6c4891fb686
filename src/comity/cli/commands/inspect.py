"""`comity inspect`: what a site says before any page of it is fetched: robots.txt, llms.txt, uses of its content.

Of a crawl's folder: what it learned of the sites.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comity import client, urls
from comity.cli.exits import Exit
from comity.cli.input_files import is_folder
from comity.cli.options import AGENT, ALLOW_ADDRESS, CONFIG, DIALECT, JSON, PRESET, argument, command, loaded, option
from comity.cli.terminal import complain, say, show_json
from comity.identity.practices import practices
from comity.usage.statements import PURPOSES, USE

if TYPE_CHECKING:
    from comity.configuration import Configuration
    from comity.policy import Decision, Policy
    from comity.policy.robots_result import RobotsResult
    from comity.retrieve import Manifest
    from comity.robots import Robots
    from comity.signals.llms import LlmsTxt

_SHOWN = 20


@command("Check URLs")
@argument("url", "[URL|DIR]...")
@option("--self ourselves", None, "Check your settings against the best practices for crawlers.")
@AGENT
@PRESET
@DIALECT
@CONFIG
@ALLOW_ADDRESS
@JSON
def inspect(url: tuple[str, ...], ourselves: bool, as_json: bool, **options: Any) -> Exit:
    """Show what sites say: robots.txt, llms.txt, usage terms.

    With a crawl's folder: the robots.txt that it last read from each site; nothing is sent. Exit code 3: a
    robots.txt could not be reached.
    """
    if bool(url) is ourselves:
        raise click.UsageError("name URLs, the folder of a crawl, or --self")
    if url and any(folders := [is_folder(each) for each in url]):
        if not all(folders):
            raise click.UsageError("name either URLs or the folders of a crawl")
        return _learned([Path(each) for each in url], as_json=as_json)
    if ourselves:
        return _practices(loaded(**options), as_json=as_json)
    import asyncio

    found = asyncio.run(_asked([urls.normalise(target) for target in url], loaded(**options)))
    _show(found, _site_in_words, as_json=as_json)
    unreachable = any(each["decision"]["verdict"] == "unknown_unreachable" for each in found)
    return Exit.NOT_READY if unreachable else Exit.DONE


def _show(found: Sequence[dict[str, Any]], told: Callable[[dict[str, Any]], list[str]], *, as_json: bool) -> None:
    """Print what is known of each site, an empty line between two."""
    if as_json:
        show_json(found)
        return
    for number, each in enumerate(found):
        if number:
            say("")
        for line in told(each):
            say(line)


def _practices(configuration: "Configuration", *, as_json: bool) -> Exit:
    """Print the practices for crawlers, and how the settings keep each."""
    from dataclasses import asdict

    found = practices(configuration.policy, configuration.client)
    if as_json:
        show_json([asdict(each) for each in found])
    for each in () if as_json else found:
        say(f"{'yes' if each.kept else 'no':5}{each.name:28}{each.how}")
    return Exit.DONE


def _learned(folders: Sequence[Path], *, as_json: bool) -> Exit:
    """Print what a crawl learned of each site: its robots.txt as it was read last, and what of it is for the crawl."""
    from comity.audit.learned import robots_files
    from comity.crawler.places.crawl_at import crawl_at
    from comity.policy import Policy

    opened = crawl_at(folders)
    crawl, policy = opened.written(), opened.begun().policy or Policy()
    found = [
        {"origin": result.origin, "robots": _facts(result, policy, f"{result.origin}/")}
        for result in robots_files(crawl.parts, policy)
    ]
    _show(found, _robots_in_words, as_json=as_json)
    for words in crawl.absent:
        complain(words)
    return Exit.PARTLY if crawl.absent else Exit.DONE


async def _asked(targets: Sequence[str], configuration: "Configuration") -> list[dict[str, Any]]:
    from comity.retrieve import llms_txt

    policy = configuration.policy
    async with client.AsyncClient(policy, configuration.client) as asking:
        found = []
        for url in targets:
            decision = await asking.check(url)
            origin = urls.origin(url)
            result = asking.inspect().get(origin)
            llms, manifest = await llms_txt(asking, origin)
            found.append(_site(origin, decision, result, llms, manifest, policy))
        return found


def _site(
    origin: str,
    decision: "Decision",
    result: "RobotsResult | None",
    llms: "LlmsTxt | None",
    manifest: "Manifest",
    policy: "Policy",
) -> dict[str, Any]:
    return {
        "origin": origin,
        "decision": decision.to_dict(),
        "robots": _facts(result, policy, decision.url),
        "llms": {
            "url": manifest.url,
            "status": manifest.status,
            "problem": manifest.problem,
            "sha256": manifest.sha256,
            "title": llms.title if llms is not None else None,
            "summary": llms.summary if llms is not None else None,
            "links": [
                {"name": link.name, "url": link.url, "notes": link.notes, "section": section.name}
                for section in (llms.sections if llms is not None else ())
                for link in section.links
            ],
        },
        "usage": {purpose: decision.explain_usage(purpose) for purpose in (*PURPOSES, USE)},
    }


def _facts(result: "RobotsResult | None", policy: "Policy", url: str) -> dict[str, Any]:
    """What a robots.txt says, and what of it is for us."""
    robots = result.robots if result is not None else None
    match = robots.explain(url, policy.asked_as) if robots is not None else None
    groups = robots.groups if robots is not None else ()
    return {
        "outcome": result.kind if result is not None else "not fetched",
        "url": result.url if result is not None else None,
        "status": result.status if result is not None else None,
        "error": result.error if result is not None else None,
        "sha256": result.sha256 if result is not None else None,
        "groups": len(groups),
        "agents": list(dict.fromkeys(agent for group in groups for agent in group.agents)),
        "rules": sum(len(group.rules) for group in groups),
        "our_group": list(match.group.agents) if match is not None and match.group is not None else None,
        "crawl_delay": robots.crawl_delay(policy.asked_as) if robots is not None else None,
        "request_rate": _written(robots, "request-rate", policy.asked_as) if robots is not None else [],
        "visit_time": _written(robots, "visit-time", policy.asked_as) if robots is not None else [],
        "sitemaps": list(robots.sitemaps) if robots is not None else [],
    }


def _written(robots: "Robots", kind: str, agent: str) -> list[str]:
    """The values of the records of a kind that are meant for an agent, as written."""
    return [record.value for record in robots.records_for(agent, kind)]


def _robots_in_words(site: dict[str, Any]) -> list[str]:
    """What a site's robots.txt says, in lines."""
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
        shown = ", ".join(robots["agents"][:_SHOWN])
        more = f" and {len(robots['agents']) - _SHOWN} more" if len(robots["agents"]) > _SHOWN else ""
        lines.append(f"  agents      {shown or 'none'}{more}")
    if robots["crawl_delay"] is not None:
        lines.append(f"  delay       {robots['crawl_delay']:,.10g} s between requests")
    lines += _some("rate        ", robots["request_rate"])
    lines += _some("hours (UTC) ", robots["visit_time"])
    return lines + _some("sitemap     ", robots["sitemaps"])


def _site_in_words(site: dict[str, Any]) -> list[str]:
    llms, decision, lines = site["llms"], site["decision"], _robots_in_words(site)
    lines.append(f"  llms.txt    {llms['title'] or llms['problem'] or 'has no title'}")
    if llms["summary"]:
        lines.append(f"              {' '.join(llms['summary'].split())[:300]}")
    lines += _some("link        ", [f"{link['url']}  {link['name']}" for link in llms["links"]])
    lines += [f"  usage       {sentence}" for sentence in site["usage"].values()]
    word = "allowed" if decision["may_fetch"] else "disallowed"
    lines.append(f"  this URL    {word} for {decision['agent']}: {decision['why']}")
    return lines


def _some(label: str, values: Sequence[str]) -> list[str]:
    lines = [f"  {label}{value}" for value in values[:_SHOWN]]
    if len(values) > _SHOWN:
        lines.append(f"  {label}and {len(values) - _SHOWN} more; --json has them all")
    return lines
