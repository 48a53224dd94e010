"""Diagnostics on functions and data whose answers are known."""

import numpy as np
import pytest

from polycomplete import PMC, datasets, masks
from polycomplete.diagnostics import check_gradient, intrinsic_dimension, row_notes, spectrum


def cubes(factor=1.0, wrong=0):
    """Return a function with a gradient that is wrong by a factor in its first entries."""

    def objective(x):
        gradient = 3 * x**2
        gradient[:wrong] *= factor
        return float(np.sum(x**3, dtype=np.float64)), gradient

    return objective


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_right_gradient_passes(dtype):
    for seed in range(5):
        check = check_gradient(cubes(), np.linspace(0.5, 1, 6).astype(dtype), random_state=seed)
        assert check.passed
        assert 1.8 < check.slope < 2.2


def test_a_wrong_gradient_fails():
    x = np.linspace(0.5, 1, 6)
    wrong = [cubes(*how) for how in [(-1.0, 1), (0.0, 1), (0.5, 1), (0.9, 6), (1.01, 6)]]
    checks = [check_gradient(one, x, random_state=seed) for one in wrong for seed in range(5)]
    assert not any(check.passed for check in checks)


def test_the_gradient_of_a_linear_function_has_no_error():
    check = check_gradient(lambda x: (float(x.sum()), np.ones_like(x)), np.ones(3))
    assert check.passed
    assert check.errors.max() < 1e-14


def test_steps_halve_from_the_largest():
    steps = check_gradient(cubes(), np.ones(3), largest=0.5).steps
    assert steps[0] == 0.5
    assert np.array_equal(steps[:-1], 2 * steps[1:])


def curve(rng, n):
    t = rng.uniform(0, 3, n)
    return np.c_[np.cos(t), np.sin(t), t, t**2, np.exp(-t)]


def sheet(rng, n):
    u, v = rng.uniform(-1, 1, (2, n))
    return np.c_[u, v, u * v, u**2, np.sin(2 * v), np.cos(u + v), u - v]


def ball(rng, n):
    return rng.uniform(-1, 1, (n, 3)) @ rng.standard_normal((3, 10))


@pytest.mark.parametrize(("shape", "dimension"), [(curve, 1), (sheet, 2), (ball, 3)])
def test_intrinsic_dimension_of_known_shapes(shape, dimension):
    for seed in range(3):
        X = shape(np.random.default_rng(seed), 1000)
        assert intrinsic_dimension(X) == pytest.approx(dimension, rel=0.15)


def test_intrinsic_dimension_does_not_change_with_scale_copies_or_order():
    rng = np.random.default_rng(0)
    X = sheet(rng, 300)
    expected = intrinsic_dimension(X)
    assert intrinsic_dimension(1e6 * X) == pytest.approx(expected, rel=1e-9)
    assert intrinsic_dimension(np.vstack([X, X[:50]])) == expected
    assert intrinsic_dimension(rng.permutation(X)) == expected


def test_intrinsic_dimension_needs_four_different_rows():
    with pytest.raises(ValueError, match=r"four different rows.*got 1"):
        intrinsic_dimension(np.ones((10, 2)))


@pytest.fixture(scope="module", name="fitted")
def fitted_curve():
    X = datasets.make_polynomial_manifold(80, 8, n_dims=1, random_state=0)
    mask = masks.per_row(X.shape, 5, random_state=0)
    mask[3] = False
    mask[4] = [True] + [False] * 7
    return PMC(random_state=0).fit(masks.apply(X, mask)), mask


def test_spectrum_is_that_of_the_fitted_surface(fitted):
    completer, mask = fitted
    values = spectrum(completer)
    rows = mask.any(axis=1).sum()
    assert values.shape == (rows,)
    assert np.all(np.diff(values) <= 0)
    assert values[-1] >= 0
    assert values.sum() == pytest.approx(rows, rel=1e-12)  # the trace of an RBF Gram matrix


def test_spectrum_needs_a_surface():
    with pytest.raises(ValueError, match="no surface"):
        spectrum(PMC().fit(np.ones((5, 3))))


def test_row_notes_name_rows_without_and_with_too_few_entries(fitted):
    notes = row_notes(*fitted)
    assert notes[3] == "no observed entry: filled with the column means"
    assert "1 observed" in notes[4]
    assert len(notes) < 10


def test_row_notes_without_a_surface_still_name_empty_rows():
    X = np.array([[1.0, 2.0], [np.nan, np.nan], [1.0, 2.0]])
    assert list(row_notes(PMC().fit(X), ~np.isnan(X))) == [1]
    with pytest.raises(ValueError, match=r"mask must be boolean.*~np\.isnan\(X\)"):
        row_notes(PMC().fit(X), X)
