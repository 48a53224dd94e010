"""What others report: the paper's Table 1, and what its authors' public code reached.

The paper prints its figures as pictures without numbers; what their authors' MATLAB code reaches on
instances of the same kind stands in for them (benchmarks/anchors/README.md has the settings).
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["AUTHORS_MOTION", "AUTHORS_SINGLE", "TABLE1", "TABLE1_ROWS"]

#: Columns of Table 1, by the names of our rows.
TABLE1_ROWS = (
    "SVM",
    "lrmc-paper",
    "LRMC+SVM",
    "srmc",
    "vmc-2",
    "vmc-3",
    "nlmc-paper",
    "pmc-s-paper",
    "pmc-w-paper",
)
#: Classification errors in per cent, by dataset and share of removed entries.
TABLE1: Mapping[tuple[str, float], tuple[float, ...]] = {
    ("Mice protein", 0.1): (8.96, 6.33, 0.8, 2.96, 0.54, 0.46, 0.44, 0.41, 0.39),
    ("Mice protein", 0.5): (32.5, 18.78, 5.26, 13.19, 1.24, 0.87, 0.81, 0.71, 0.63),
    ("Shuttle", 0.1): (12.18, 24.7, 2.48, 21.06, 9.7, 7.72, 4.8, 2.66, 3.86),
    ("Shuttle", 0.5): (17.82, 28.7, 10.6, 27.3, 13.4, 11.1, 9.58, 8.02, 9.16),
    ("Dermatology", 0.1): (4.48, 4.54, 3.28, 4.21, 3.17, 3.12, 3.08, 2.84, 2.84),
    ("Dermatology", 0.5): (13.07, 9.95, 8.83, 9.08, 8.64, 8.74, 8.31, 8.16, 7.98),
    ("Satimage", 0.1): (39.6, 23.34, 14.38, 20.62, 17.32, 15.5, 14.7, 13.06, 14.24),
    ("Satimage", 0.5): (44.2, 24.24, 16.96, 24.1, 18.44, 16.18, 15.84, 14.82, 15.18),
}
#: RSE at ρ = 0.5 on one manifold, by n: means over three instances.
AUTHORS_SINGLE: Mapping[int, Mapping[str, float]] = {
    100: {"lrmc-paper": 0.292, "vmc-2": 0.049, "vmc-3": 0.055, "nlmc-paper": 0.041,
          "pmc-s-paper": 0.267, "pmc-w-paper": 0.061},
    200: {"lrmc-paper": 0.210, "vmc-2": 0.011, "vmc-3": 0.021, "nlmc-paper": 0.0091,
          "pmc-s-paper": 0.074, "pmc-w-paper": 0.0035},
}  # fmt: skip
#: RAE on motion capture 56_01, by share of missing entries.
AUTHORS_MOTION: Mapping[float, Mapping[str, float]] = {
    0.1: {"lrmc-paper": 0.134, "nlmc-paper": 0.033, "pmc-s-paper": 0.021, "pmc-w-paper": 0.021},
    0.3: {"lrmc-paper": 0.187, "srmc": 0.150, "vmc-2": 0.103, "vmc-3": 0.092, "nlmc-paper": 0.066,
          "pmc-s-paper": 0.033, "pmc-w-paper": 0.036},
    0.5: {"lrmc-paper": 0.245, "srmc": 0.218, "vmc-2": 0.163, "vmc-3": 0.158, "nlmc-paper": 0.123,
          "pmc-s-paper": 0.094, "pmc-w-paper": 0.092},
    0.7: {"lrmc-paper": 0.312, "nlmc-paper": 0.223, "pmc-s-paper": 0.226, "pmc-w-paper": 0.218},
}  # fmt: skip
