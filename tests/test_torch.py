"""The numerical core on torch tensors gives what it gives on NumPy arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from polycomplete import RBF, Polynomial, Schatten, datasets, masks
from polycomplete.landmarks.energy import Spectrum
from polycomplete.landmarks.features import moments, whiten
from polycomplete.rows import Holes, deviations, pivots

torch = pytest.importorskip("torch", reason="torch is not installed")
KERNELS = {"rbf": RBF(width=3.0), "polynomial": Polynomial(2, 1.0)}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_learning_and_steps_are_the_same(kernel):
    X = datasets.make_polynomial_manifold(200, 8, random_state=0)
    mask = masks.uniform(X.shape, 0.6, random_state=0)
    at = pivots(kernel, X, 40)
    assert pivots(kernel, torch.asarray(X), 40).tolist() == at.tolist()
    begin, found = np.where(mask, X, X.mean(axis=0)), []
    for rows in (begin, torch.asarray(begin)):
        xp = torch if torch.is_tensor(rows) else np
        features = whiten(kernel, xp.asarray(X[at]))
        spectrum = Spectrum(
            features, moments(features, xp.asarray(X), xp.asarray(np.ones(200))), Schatten()
        )
        holes = Holes(mask, like=rows if xp is torch else None)
        energy = spectrum.energy(1e-4)
        done, E, _ = holes.settle(energy, rows, xp.asarray(np.full(200, 0.1)), steps=3)
        spread = deviations(energy, done, holes.blocks[0], 1e-4)[0]
        found.append([np.asarray(part) for part in (done, E, spread)])
    for ours, theirs in zip(*found, strict=True):
        assert_allclose(theirs, ours, rtol=1e-5, atol=1e-7 * np.abs(ours).max())
