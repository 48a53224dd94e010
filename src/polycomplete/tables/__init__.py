"""Tables with all kinds of columns: to a matrix of numbers, completed, and back."""

from polycomplete.tables.simplex import Calibration, project

__all__ = ["Calibration", "project"]
