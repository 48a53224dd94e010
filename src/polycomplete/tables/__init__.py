"""Tables with all kinds of columns: they become a matrix, are completed, and become tables."""

from polycomplete.tables.calibration import Calibration, project
from polycomplete.tables.codecs import Column
from polycomplete.tables.table_completer import Probabilities, TableCompleter

__all__ = ["Calibration", "Column", "Probabilities", "TableCompleter", "project"]
