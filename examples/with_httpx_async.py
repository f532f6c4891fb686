"""python examples/with_httpx_async.py https://example.com/"""

import asyncio
import sys

import httpx

import comity
from comity.middleware.httpx import AsyncComityTransport


async def main(base: str) -> None:
    policy = comity.Policy(agent="MyBot/1.0 (+https://example.org/bot)")
    async with httpx.AsyncClient(transport=AsyncComityTransport(policy), base_url=base) as client:
        for path in ("/open", "/private"):
            try:
                response = await client.get(path)
                print(response.status_code, response.url, "-", response.extensions["comity"].why)
            except comity.RobotsDisallowed as error:
                print("refused:", error.url, "-", error.decision.why)


asyncio.run(main(sys.argv[1]))
