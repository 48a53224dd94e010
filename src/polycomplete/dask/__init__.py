"""Dask arrays, data frames and folders of Parquet files, on one machine or on many.

A completer learns from a sample of all partitions, which is chosen in one pass; what comes out is
an ordinary fitted completer, the same to the last bit as from an array. Then every partition is
completed by itself.
"""

from polycomplete.dask.cluster import connected
from polycomplete.dask.collections import fit, transform
from polycomplete.dask.folders import complete_parquet

__all__ = ["complete_parquet", "connected", "fit", "transform"]
