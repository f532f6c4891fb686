"""Floor 5: what an agent fetches: one URL, politely, as Markdown, with a score, warnings and evidence."""

from comity.retrieve.evidence import Considered, Evidence, Manifest, Retrieved, json_schema
from comity.retrieve.hidden import HiddenText
from comity.retrieve.llms_txt import llms_txt
from comity.retrieve.parts import Answer, Chooser, Extractor, Fetcher
from comity.retrieve.quality import Quality
from comity.retrieve.retrieve import retrieve

__all__ = [
    "Answer",
    "Chooser",
    "Considered",
    "Evidence",
    "Extractor",
    "Fetcher",
    "HiddenText",
    "Manifest",
    "Quality",
    "Retrieved",
    "json_schema",
    "llms_txt",
    "retrieve",
]
