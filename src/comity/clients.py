"""The clients as programs get them: those of `net`, and `retrieve`, which `net` does not import."""

from typing import TYPE_CHECKING

from comity import net

if TYPE_CHECKING:
    from comity.retrieve import Chooser, Extractor, Fetcher, Retrieved
    from comity.signals.llms import Strategy


class AsyncClient(net.AsyncClient):
    __doc__ = net.AsyncClient.__doc__

    async def retrieve(
        self,
        url: str,
        *,
        strategy: "Strategy" = "prefer",
        fetcher: "Fetcher | None" = None,
        extractor: "Extractor | None" = None,
        chooser: "Chooser | None" = None,
    ) -> "Retrieved":
        """The page for a reader that is a program: as Markdown, with evidence.

        Arguments and errors are those of `comity.retrieve.retrieve`.
        """
        from comity.retrieve import retrieve

        return await retrieve(self, url, strategy=strategy, fetcher=fetcher, extractor=extractor, chooser=chooser)


class Client(net.Client):
    __doc__ = net.Client.__doc__

    def retrieve(
        self,
        url: str,
        *,
        strategy: "Strategy" = "prefer",
        fetcher: "Fetcher | None" = None,
        extractor: "Extractor | None" = None,
        chooser: "Chooser | None" = None,
    ) -> "Retrieved":
        """As `AsyncClient.retrieve`."""
        from comity.retrieve import retrieve

        return self._run(
            retrieve, self._client, url, strategy=strategy, fetcher=fetcher, extractor=extractor, chooser=chooser
        )
