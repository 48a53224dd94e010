"""From moments to the energy of a row: the penalty, linearised at the current spectrum.

With λ, U the eigenpairs of the mean covariance C, the penalty of all rows is to first order a sum
over rows of

    E(x) = Σᵢ ĝᵢ (uᵢᵀφ(x))² + k(x, x) − |φ(x)|²  =  k(x, x) − |Fᵀ k(L, x)|²,

    ĝᵢ = wᵢ (γ/(λᵢ + γ))^(1 − p/2),     F = T U diag(√(1 − ĝᵢ)):

the slope of the penalty divided by its slope at zero, which every direction pays that no row uses.
"""

from __future__ import annotations

from array_api_compat import array_namespace

from polycomplete._arrays import Array
from polycomplete.landmarks.features import Features, Moments
from polycomplete.penalties import Schatten
from polycomplete.rows import RowEnergy

EVEN = 8  # matrix products are quicker with multiples of this
DROP = 0.03  # directions that explain less than this share of a row's part in them are left out


class Spectrum:
    """The spectrum of some moments; gives the row energy at any smoothing.

    Parameters
    ----------
    features : Features
        The map from rows to features.
    moments : Moments
        Of the rows to learn from.
    penalty : Schatten
        Resolved.

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete.kernels import RBF
    >>> from polycomplete.landmarks.features import moments, whiten
    >>> t = np.linspace(0, 1, 50)
    >>> arc = np.c_[t, t**2]
    >>> features = whiten(RBF(width=2.0), arc[::5])
    >>> spectrum = Spectrum(features, moments(features, arc, np.ones(50)), Schatten())
    >>> on, off = spectrum.energy(1e-9).value(np.array([[0.5, 0.25], [0.5, 0.6]]))
    >>> bool(on < 1e-6 < 1e-3 < off)
    True
    """

    def __init__(self, features: Features, moments: Moments, penalty: Schatten):
        xp = array_namespace(moments.covariance)
        values, U = xp.linalg.eigh(moments.covariance / moments.total)
        self.features, self.penalty = features, penalty
        self.outside = moments.outside / moments.total
        self.values: Array = xp.flip(xp.clip(values, 0.0, None))
        self.vectors: Array = xp.flip(U, axis=1)

    def slopes(self, gamma: float) -> Array:
        """Return ĝ of each eigenvalue that is not small against γ, largest first.

        The weights count these alone: the others are as good as unused.
        """
        xp = array_namespace(self.values)
        power = 1 - self.penalty.p / 2
        plain = (gamma / (self.values + gamma)) ** power
        kept = int(xp.sum(xp.astype(1 - plain > DROP, xp.int64)))
        kept = min(-(-kept // EVEN) * EVEN, plain.shape[0])
        return plain[:kept] * self.penalty.weigh(self.values[:kept]) if kept else plain[:0]

    def energy(self, gamma: float) -> RowEnergy:
        """Return the row energy at a smoothing, in the units of the mean covariance."""
        xp = array_namespace(self.values)
        slopes = self.slopes(gamma)
        turned = self.features.turn @ self.vectors[:, : slopes.shape[0]]
        factor = turned * xp.sqrt(1 - slopes)
        return RowEnergy(self.features.kernel, self.features.landmarks, factor, None)
