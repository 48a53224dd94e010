"""Tables in files: reading them, and writing them whole or not at all.

Names are loaded when they are first used, so that the command line answers at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycomplete.files.cells import MARKERS
    from polycomplete.files.formats import FORMS, read_table, write_table
    from polycomplete.files.reading import Reading
    from polycomplete.files.table import Table, TableFileError
    from polycomplete.files.whole import written_whole

_HOME_OF = {
    "FORMS": "formats",
    "MARKERS": "cells",
    "Reading": "reading",
    "Table": "table",
    "TableFileError": "table",
    "read_table": "formats",
    "write_table": "formats",
    "written_whole": "whole",
}

__all__ = [
    "FORMS",
    "MARKERS",
    "Reading",
    "Table",
    "TableFileError",
    "read_table",
    "write_table",
    "written_whole",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
