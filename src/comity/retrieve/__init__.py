"""What an agent fetches: one URL, politely, as Markdown, with a score, warnings and evidence."""

from comity.retrieve.content.content import LeftOut
from comity.retrieve.evidence import Considered, Evidence, Manifest, Retrieved, json_schema
from comity.retrieve.extraction import Content
from comity.retrieve.llms_txt import llms_txt
from comity.retrieve.metadata.json_ld import Entity
from comity.retrieve.metadata.metadata import Metadata
from comity.retrieve.metadata.page import Field
from comity.retrieve.page.hidden import HiddenText
from comity.retrieve.pieces import Chunk, Image, Link, Section, Table
from comity.retrieve.plugins import Answer, Chooser, Extractor, Fetcher
from comity.retrieve.quality import Quality
from comity.retrieve.retrieve import retrieve
from comity.retrieve.schemas import Schema, Selected

__all__ = [
    "Answer",
    "Chooser",
    "Chunk",
    "Considered",
    "Content",
    "Entity",
    "Evidence",
    "Extractor",
    "Fetcher",
    "Field",
    "HiddenText",
    "Image",
    "LeftOut",
    "Link",
    "Manifest",
    "Metadata",
    "Quality",
    "Retrieved",
    "Schema",
    "Section",
    "Selected",
    "Table",
    "json_schema",
    "llms_txt",
    "retrieve",
]
