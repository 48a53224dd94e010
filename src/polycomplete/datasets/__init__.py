"""Datasets: generators of synthetic data, and loaders of files that are found or downloaded."""

from polycomplete.datasets.fetch import data_home
from polycomplete.datasets.loaders import (
    list_hopkins155,
    list_tabular,
    load_cmu_mocap,
    load_dermatology,
    load_hopkins155,
    load_mice_protein,
    load_satimage,
    load_shuttle,
    load_tabular,
)
from polycomplete.datasets.synthetic import make_polynomial_manifold, make_union_of_subspaces

__all__ = [
    "data_home",
    "list_hopkins155",
    "list_tabular",
    "load_cmu_mocap",
    "load_dermatology",
    "load_hopkins155",
    "load_mice_protein",
    "load_satimage",
    "load_shuttle",
    "load_tabular",
    "make_polynomial_manifold",
    "make_union_of_subspaces",
]
