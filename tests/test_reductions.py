"""Methods that are special cases of others give what these give.

Beside: all rows as landmarks and the exact solver (test_landmarks.py), blocks and Dask and the
array (test_blocks.py, test_dask.py), two forms of the polynomial problem (test_lift.py).
"""

import numpy as np
from numpy.testing import assert_array_equal

from polycomplete import LRMC, PMC, VMC, Completer, Equal, Schatten, Skip, masks
from polycomplete.kernels import Linear, Polynomial
from tests.conftest import QUICK, drawn


def test_a_linear_kernel_with_p_one_minimizes_the_nuclear_norm():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 8))
    X += 0.1 * rng.standard_normal(X.shape)  # of full rank: there is nothing to recover exactly
    given = masks.apply(X, masks.uniform(X.shape, 0.7, random_state=0))
    settings = QUICK | {"smoothing": 1e-8, "scale": None}
    norm = LRMC(scale=None).fit_transform(given)
    spectral = Completer(kernel=Linear(), penalty=Schatten(1.0), **settings).fit_transform(given)
    assert abs(np.linalg.norm(spectral, "nuc") / np.linalg.norm(norm, "nuc") - 1) < 1e-6
    assert np.abs(spectral - norm).max() < 1e-3 * X.std()


def test_vmc_is_a_polynomial_kernel_with_a_plain_penalty():
    given = drawn().X
    kernel = Polynomial(2, 10.0, relative=True)
    parts = Completer(kernel=kernel, penalty=Schatten(0.5), **QUICK).fit_transform(given)
    assert_array_equal(VMC(2, offset=10.0, **QUICK).fit_transform(given), parts)


def test_skipping_nothing_is_weighing_equally():
    given = drawn().X
    skip, equal = (
        Completer(penalty=Schatten(0.5, rule), **QUICK).fit_transform(given)
        for rule in (Skip(0), Equal())
    )
    assert_array_equal(skip, equal)


def test_pmc_is_its_parts():
    given = drawn().X
    skip = Completer(penalty=Schatten(0.5, Skip()), **QUICK).fit_transform(given)
    assert_array_equal(PMC(weights="skip", p=0.5, **QUICK).fit_transform(given), skip)
