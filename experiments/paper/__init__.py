"""The figures and tables of the paper, a file each; every file here is found by itself."""

from experiments.paper._found import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
