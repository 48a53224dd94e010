"""Readers of the original public file formats, each from paths to named arrays."""

from polycomplete.datasets.formats.amc import read_amc

__all__ = ["read_amc"]
