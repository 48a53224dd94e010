"""The report of a completion: a plain summary first, then a page, text and JSON of it."""

from polycomplete.report.report import Report
from polycomplete.report.summary import summarise

__all__ = ["Report", "summarise"]
