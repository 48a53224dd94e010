"""The report of a completion: a plain summary first, then a page, text and JSON of it."""

__all__: list[str] = []
