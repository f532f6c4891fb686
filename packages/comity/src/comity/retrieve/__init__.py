"""What an agent fetches: one URL, politely, as Markdown, with a score, warnings and evidence."""

from comity.retrieve.evidence import Considered, Evidence, Manifest, Retrieved, json_schema
from comity.retrieve.llms_txt import llms_txt
from comity.retrieve.plugins import Answer, Chooser, Extractor, Fetcher
from comity.retrieve.retrieve import retrieve
from comity_pages.content.content import ExcludedPart
from comity_pages.extraction import Content
from comity_pages.html.hidden import HiddenText
from comity_pages.metadata.json_ld import Entity
from comity_pages.metadata.metadata import Metadata
from comity_pages.metadata.page import Field
from comity_pages.pieces import Chunk, Image, Link, Section, Table
from comity_pages.quality import Quality
from comity_pages.schemas import Schema, SelectedRecords

__all__ = [
    "Answer",
    "Chooser",
    "Chunk",
    "Considered",
    "Content",
    "Entity",
    "Evidence",
    "ExcludedPart",
    "Extractor",
    "Fetcher",
    "Field",
    "HiddenText",
    "Image",
    "Link",
    "Manifest",
    "Metadata",
    "Quality",
    "Retrieved",
    "Schema",
    "Section",
    "SelectedRecords",
    "Table",
    "json_schema",
    "llms_txt",
    "retrieve",
]
