"""The landmark engine: the surface through a few rows, every row completed by itself."""

from polycomplete.landmarks.engine import Landmark, LandmarkProblem
from polycomplete.landmarks.sweeps import Sweeps

__all__ = ["Landmark", "LandmarkProblem", "Sweeps"]
