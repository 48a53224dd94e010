"""The surface through a few rows, every row completed independently."""

from polycomplete.landmarks.landmark import Landmark
from polycomplete.landmarks.problem import LandmarkProblem

__all__ = ["Landmark", "LandmarkProblem"]
