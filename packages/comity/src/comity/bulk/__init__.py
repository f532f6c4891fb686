"""Verdicts over columns: many URLs against many robots.txt files, Arrow in and Arrow out (docs/bulk.md).

Rules are read by `comity_robots`, HTTP outcomes by `comity.policy`. It fetches
nothing. Needs pyarrow and numpy: `pip install 'comity[bulk]'`.
"""

from comity_pages._extras import missing

try:
    from comity.bulk.bulk_verdicts import BulkVerdicts, verdicts
    from comity.bulk.columns import USAGE
except ModuleNotFoundError as error:
    raise missing(error, "bulk", __name__) from None

__all__ = ["USAGE", "BulkVerdicts", "verdicts"]
