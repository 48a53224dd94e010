"""Tables in files: reading them, and writing them whole or not at all."""

from polycomplete.files.cells import MARKERS
from polycomplete.files.formats import FORMS, read_table, write_table
from polycomplete.files.table import Reading, Table, TableFileError
from polycomplete.files.whole import written_whole

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
