"""The report of a completion: a plain summary first, then a page, text and JSON of it."""

from polycomplete.report.report import Report

__all__ = ["Report"]
