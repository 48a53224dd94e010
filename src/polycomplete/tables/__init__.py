"""Tables with all kinds of columns: to a matrix of numbers, completed, and back."""

from polycomplete.tables.calibration import Calibration, project
from polycomplete.tables.codecs import Column
from polycomplete.tables.completer import Probabilities, TableCompleter

__all__ = ["Calibration", "Column", "Probabilities", "TableCompleter", "project"]
