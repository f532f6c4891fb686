"""`comity identity`: make, rotate and check what proves who a bot is; verify what others sent."""

import time
from pathlib import Path
from typing import Any

import comity.identity
from comity.cli.exits import Exit
from comity.cli.input_files import read
from comity.cli.options import ASKING, FILE, JSON, PATH, Group, argument, command, loaded, option
from comity.cli.terminal import error_line, print_err, print_json, print_out
from comity.errors import InvalidSetting
from comity.identity.published import BEGINS_AFTER, create, user_agent
from comity.identity.published import rotate as rotated
from comity.signatures.base import joined
from comity.signatures.folder import Identity
from comity_pages import urls

_FOLDER = argument("folder", "DIR", type=PATH)


@command("Set up and serve", Group)
def identity() -> None:
    """Sign requests, so that sites can verify who sent them."""


@identity.command()
@_FOLDER
@option("--name", "TOKEN", "Product token for robots.txt, such as ExampleBot.", required=True)
@option("--page", "URL", "Where the page about the bot will be, https.", required=True)
@option("--contact", "TEXT", "E-mail address or URL for questions.", required=True)
@option("--purpose", "TEXT", "What the data is used for, such as search.", required=True)
@option("--range ranges", "CIDR", "Network that requests come from. Repeatable.", multiple=True)
@option("--rendered", None, "Pages are rendered (say so on the page).")
@option("--form", ("dictionary", "string"), "Signature-Agent: string for older verifiers.", default="dictionary")
def new(folder: Path, **fields: Any) -> Exit:
    """Make a key and the files that explain the bot.

    The key stays in DIR/keys, readable by you alone. Publish DIR/public on the origin of --page.
    """
    made = create(folder, Identity(**fields), time.time())
    print_out(f"made {folder}, key {made.signing(time.time()).public().thumbprint}")
    print_out(f"1. publish {folder / 'public'} as {made.origin}/, the key directory as")
    print_out("   application/http-message-signatures-directory+json")
    print_out(f"2. check it: comity identity check {folder} --agent '{user_agent(made)}'")
    print_out(f"3. crawl signed: comity crawl URL --agent '{user_agent(made)}' --identity {folder}")
    return Exit.DONE


@identity.command()
@_FOLDER
def rotate(folder: Path) -> Exit:
    """Make a new key.

    It is listed now and signs from tomorrow; the old key stays listed for a week after.
    """
    key = rotated(folder, time.time()).keys[-1]
    begins = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(key.signs_from))
    print_out(f"new key {key.public().thumbprint}, signs from {begins}")
    print_out(f"publish {folder / 'public'} again within {BEGINS_AFTER // 3600} hours")
    return Exit.DONE


@identity.command()
@_FOLDER
@option("--address", "IP", "An address that your requests come from, to compare with the ranges.")
@ASKING
@JSON
def check(folder: Path, address: str | None, as_json: bool, **options: Any) -> Exit:
    """Check that everything is published and consistent.

    Exit code 0: it does, 2: something needs fixing.
    """
    from ipaddress import ip_address

    from comity.identity.checking import check as checked

    try:
        _ = address is None or ip_address(address)
    except ValueError:
        raise InvalidSetting(f"--address: {address!r} is not an IP address") from None
    configuration = loaded(**options)
    found = checked(
        folder,
        time.time(),
        agent=configuration.policy.agent,
        policy=configuration.policy,
        settings=configuration.client,
        address=address,
    )
    limit = configuration.client.timeout
    print_err("fetching what is published" + (f"; each request may take up to {limit:g} s" if limit else ""))
    done = []
    for each in found:
        done.append({"holds": each.holds, "what": each.what, "said": each.said})
        if not as_json:
            mark = "-" if each.holds is None else "ok" if each.holds else "FAIL"
            print_out(f"{mark:5}{each.what:16}{each.said}")
    if as_json:
        print_json(done)
    return Exit.PARTLY if any(each["holds"] is False for each in done) else Exit.DONE


@identity.command()
@argument("url", "URL")
@option("--headers", "FILE", "The request's headers.", type=FILE, default="-", otherwise="standard input")
@option("--method", "NAME", "The request's method.", default="GET")
@ASKING
@JSON
def verify(url: str, headers: Path, method: str, as_json: bool, **options: Any) -> Exit:
    """Verify who sent a request, by its headers.

    They are read one 'Name: value' per line. Exit code 0: verified, 2: the signature does not hold, 3: the keys could
    not be fetched, or nothing is signed.
    """
    import asyncio
    from dataclasses import asdict

    urls.normalise(url)  # what is no URL is a wrong argument, and says nothing about a signature
    lines = (line.partition(":") for line in read(headers).decode("utf-8", "replace").splitlines())
    given = joined((name, value) for name, colon, value in lines if colon and name.strip())
    if not given:
        error_line("no headers given: one 'Name: value' per line, with --headers FILE or on standard input")
        return Exit.INPUT
    configuration = loaded(**options)
    keys = comity.identity.KeyLookup(configuration.policy, configuration.client)
    verdict = asyncio.run(keys.verify(method.upper(), url, given))
    if as_json:
        print_json(asdict(verdict))
    else:
        print_out(f"{verdict.outcome}: {verdict.why}")
        if verdict.expires is not None:
            until = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(verdict.expires))
            print_out(f"covers {', '.join(verdict.covered)}; until {until}")
    return {"verified": Exit.DONE, "invalid": Exit.PARTLY}.get(verdict.outcome, Exit.NOT_READY)
