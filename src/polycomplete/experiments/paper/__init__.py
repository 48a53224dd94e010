"""The figures and tables of the paper, a file each; every file here is found by itself."""

from polycomplete.experiments.paper._found import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
