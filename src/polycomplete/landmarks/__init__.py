"""Landmark solver: a surface learned from a few rows, with every row completed independently."""

from polycomplete.landmarks.landmark import Landmark
from polycomplete.landmarks.landmark_problem import LandmarkProblem

__all__ = ["Landmark", "LandmarkProblem"]
