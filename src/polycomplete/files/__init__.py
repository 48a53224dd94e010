"""Tables in files: reading and writing them."""

from polycomplete.files.whole import written_whole

__all__ = ["written_whole"]
