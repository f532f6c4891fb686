"""python examples/with_playwright.py https://example.com/ [NETWORK OF YOUR OWN]"""

import asyncio
import shutil
import sys

from playwright.async_api import Error, async_playwright

import comity
from comity.middleware.playwright import AsyncComityRoutes


async def main(base: str, *networks: str) -> None:
    policy = comity.Policy(agent="MyBot/1.0 (+https://example.org/bot)", allow_addresses=networks)
    async with comity.AsyncClient(policy) as client, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"))
        context = await AsyncComityRoutes(client).new_context(browser)
        page = await context.new_page()
        for path in ("open", "private"):
            try:
                response = await page.goto(base + path)
                print(response.status, page.url, "-", await page.inner_text("body"))
            except Error as error:
                decision = await client.check(base + path)
                if decision.may_fetch:  # a download, for one
                    print("failed:", decision.url, "-", error.message.splitlines()[0])
                else:
                    print("refused:", decision.url, "-", decision.why)
        await browser.close()


asyncio.run(main(*sys.argv[1:]))
