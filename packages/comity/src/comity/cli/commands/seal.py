"""`comity seal`: signs the last hash of a crawl's ledger."""

import time
from pathlib import Path
from typing import Any

from comity.audit import seal as sealing
from comity.audit.prove import prove
from comity.cli.exits import Exit
from comity.cli.options import ALLOW_ADDRESS, CONFIG, FOLDERS, STORE, command, loaded, option, option_for
from comity.cli.terminal import error_line, print_out
from comity.crawler.output.formats import EXPORTS
from comity.crawler.storage.export import export_at_end
from comity.errors import InvalidSetting
from comity.signatures.folder import signing_key


@command("Read a crawl")
@FOLDERS
@STORE
@option_for("identity", metavar="DIR", help="The identity that signs (comity identity new).")
@option("--authority", "URL", "Time-stamp authority that stamps the signature (RFC 3161).")
@CONFIG
@ALLOW_ADDRESS
def seal(folders: tuple[Path, ...], store: str | None, authority: str | None, **options: Any) -> Exit:
    """Sign a crawl's ledger, so that later changes show.

    Runs comity prove first, then writes seal.json. Exit code 1: not proved, so not signed.
    """
    configuration, now = loaded(**options), time.time()
    if configuration.client.identity is None:
        raise InvalidSetting("name the identity that signs: --identity DIR")
    identity, key = signing_key(Path(configuration.client.identity), now)
    proof = prove(folders, store=store, seals=False)
    if not proof.holds:
        error_line(f"not sealed: the crawl is not proved: {proof.findings[0]}; comity prove says more")
        return Exit.FATAL
    how: Any = {"policy": configuration.policy, "settings": configuration.client}
    sealing.seal(folders[0], proof.hash, identity, key, now, authority=authority, **how)
    if (folders[0] / EXPORTS["wacz"].place).exists():  # the seal belongs into it
        export_at_end(folders[0], "wacz", store)
    print_out(f"sealed {proof.hash} in {folders[0] / sealing.FILE}, by the key {key.public.thumbprint}")
    return Exit.DONE
