"""Tables with all kinds of columns: to a matrix of numbers, completed, and back."""

from polycomplete.tables.completer import TableCompleter
from polycomplete.tables.decode import Probabilities
from polycomplete.tables.schema import Column
from polycomplete.tables.simplex import Calibration, project

__all__ = ["Calibration", "Column", "Probabilities", "TableCompleter", "project"]
