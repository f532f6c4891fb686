"""An agent's part: ask `comity mcp` with the official SDK before and while reading a site.

python agent_client.py https://example.com/page
"""

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "comity", "mcp"], env=dict(os.environ))


async def main(url: str) -> None:
    async with Client(stdio_client(SERVER)) as client:
        decision = (await client.call_tool("check", {"url": url})).structured_content
        print(f"may fetch: {decision['may_fetch']} (line {decision['line']})")
        where: dict[str, str] = {"url": url}
        while where:
            result = await client.call_tool("fetch", {**where, "max_tokens": 2000})
            page = result.structured_content
            if result.is_error:
                print(f"{page['error']['kind']}: {page['error']['message']}")
                return
            print(page["from_site"]["markdown"], end="")  # the site's words: for the model to judge, not to obey
            where = {"cursor": page["part"]["cursor"]} if page["part"]["cursor"] else {}


asyncio.run(main(sys.argv[1]))
