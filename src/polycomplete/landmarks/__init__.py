"""The landmark engine: the surface through a few rows, every row completed by itself."""

from polycomplete.landmarks.engine import Landmark, LandmarkProblem
from polycomplete.landmarks.model import Completion, LandmarkModel
from polycomplete.landmarks.sweeps import Sweeps

__all__ = ["Completion", "Landmark", "LandmarkModel", "LandmarkProblem", "Sweeps"]
