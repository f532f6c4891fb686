"""Floor 3: durable state behind small faces."""

from comity.store.cache import Cache, Page

__all__ = ["Cache", "Page"]
