"""The landmark solver: the surface through a few rows, every row completed by itself."""

from polycomplete.landmarks.landmark import Landmark
from polycomplete.landmarks.model import Completion, LandmarkModel
from polycomplete.landmarks.problem import LandmarkProblem, Resources

__all__ = ["Completion", "Landmark", "LandmarkModel", "LandmarkProblem", "Resources"]
