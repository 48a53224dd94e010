"""Kernels against entry-by-entry definitions and central differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from polycomplete.kernels import RBF, Linear, Polynomial, typical_distance
from tests import naive

KERNELS = {
    "rbf": RBF(width=1.3),
    "linear": Linear(),
    "polynomial 2": Polynomial(2, 1.0),
    "polynomial 3": Polynomial(3, 0.5),
    "homogeneous": Polynomial(2, 0.0),
    "product": naive.Product(),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).standard_normal((9, 4))


@pytest.fixture(name="Y")
def other_rows():
    return np.random.default_rng(1).standard_normal((6, 4))


@every_kernel
def test_gram_is_its_definition(kernel, X, Y):
    np.testing.assert_allclose(kernel.gram(X), naive.gram(kernel, X), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(kernel(X, Y), naive.gram(kernel, X, Y), rtol=1e-13, atol=1e-14)


@every_kernel
def test_gram_is_symmetric_and_positive_semidefinite(kernel):
    X = np.random.default_rng(2).standard_normal((40, 3))
    K = kernel.gram(X)
    np.testing.assert_allclose(K, K.T, rtol=1e-15)
    values = np.linalg.eigvalsh(K)
    assert values[0] > -1e-14 * len(X) * values[-1]


@every_kernel
def test_diagonal_is_that_of_gram(kernel, X):
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel.gram(X)), rtol=1e-14)


@every_kernel
def test_slopes_give_the_derivative_in_the_first_argument(kernel, X, Y):
    s, t = (np.broadcast_to(part, (9, 6)) for part in kernel.slopes(X, Y, kernel.gram(X, Y)))
    k = naive.similarity(kernel)
    for i, x in enumerate(X):
        for j, y in enumerate(Y):
            expected = naive.differences(lambda u, y=y: k(u, y), x)
            np.testing.assert_allclose(s[i, j] * y - t[i, j] * x, expected, rtol=1e-6, atol=1e-8)


@every_kernel
def test_diagonal_slope_gives_the_derivative_of_the_diagonal(kernel, X):
    k = naive.similarity(kernel)
    expected = np.array([naive.differences(lambda u: k(u, u), x) for x in X])
    found = 2 * kernel.diagonal_slope(X)[:, None] * X
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@every_kernel
def test_metric_is_the_mixed_second_derivative(kernel, X):
    k = naive.similarity(kernel)
    a, b = kernel.metric(X)
    for i, x in enumerate(X):
        expected = naive.jacobian(
            lambda v, x=x: naive.differences(lambda u: k(u, v), x, step=1e-4), x, step=1e-4
        )
        found = a[i] * np.eye(4) + b[i] * np.outer(x, x)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@every_kernel
def test_vjp_is_the_gradient_of_a_weighted_sum_of_the_gram(kernel, X):
    G = np.random.default_rng(3).standard_normal((9, 9))
    G = G + G.T
    expected = naive.differences(lambda Z: np.sum(G * naive.gram(kernel, Z)), X)
    found = kernel.vjp(X, kernel.gram(X), G)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def test_linear_is_the_polynomial_of_degree_one_without_offset(X, Y):
    assert np.array_equal(Linear().gram(X, Y), Polynomial(1, 0.0).gram(X, Y))


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
def test_rbf_does_not_suffer_far_from_the_origin(X, offset):
    far = X + offset
    near = far - offset  # exact: what rounding left of X
    kernel = RBF(width=1.5)
    np.testing.assert_allclose(kernel.gram(far), kernel.gram(near), rtol=1e-13)
    some = kernel.gram(far, far[:3])
    np.testing.assert_allclose(some, kernel.gram(near, near[:3]), rtol=1e-13)


def test_rbf_of_a_row_with_itself_is_exactly_one():
    X = 1e4 * np.random.default_rng(0).standard_normal((30, 5))
    assert np.array_equal(np.diag(RBF(width=0.1).gram(X)), np.ones(30))


def test_typical_distance_is_the_root_mean_square_over_pairs():
    X = np.random.default_rng(0).standard_normal((25, 3)) * [1.0, 5.0, 0.1] + 7
    squares = [sum((x - y) ** 2) for x in X for y in X]
    expected = np.sqrt(sum(squares) / len(squares))
    assert typical_distance(X, np.ones(X.shape, bool)) == pytest.approx(expected, rel=1e-13)


def test_typical_distance_of_constant_data_is_one():
    assert typical_distance(np.full((4, 2), 3.0), np.ones((4, 2), bool)) == 1.0


@given(st.integers(0, 2**32 - 1), st.floats(-1e6, 1e6))
def test_auto_width_does_not_see_what_stands_in_missing_cells(seed, junk):
    rng = np.random.default_rng(seed)
    X, mask = rng.standard_normal((12, 3)), rng.random((12, 3)) < 0.6
    zeros, filled = np.where(mask, X, 0.0), np.where(mask, X, junk)
    assert typical_distance(zeros, mask) == typical_distance(filled, mask)
    one, two = RBF().resolve(zeros, mask), RBF().resolve(filled, mask)
    assert one.width == two.width == 3.0 * typical_distance(zeros, mask)


@pytest.mark.parametrize("multiple", [0.5, 3.0, 7.0])
def test_auto_is_a_multiple_of_the_typical_distance(X, multiple):
    mask = np.ones(X.shape, bool)
    expected = multiple * typical_distance(X, mask)
    assert RBF(multiple=multiple).resolve(X, mask).width == expected


def test_a_given_width_is_left_alone(X):
    assert RBF(width=0.25, multiple=9.0).resolve(X, np.ones(X.shape, bool)).width == 0.25


def test_stretched_multiplies_a_width_and_nothing_else():
    assert repr(RBF(width=2.0).stretched(1.5)) == repr(RBF(width=3.0))
    assert repr(Polynomial(3, 2.0).stretched(1.5)) == repr(Polynomial(3, 2.0))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (RBF(width=0.0), r"width=.*positive number.*got 0\.0"),
        (RBF(width=-1.0), r"width=.*positive number.*got -1\.0"),
        (RBF(width=np.nan), r"width=.*positive number.*got nan"),
        (RBF(width="wide"), r"width=.*positive number.*got 'wide'"),
        (RBF(multiple=0.0), r"multiple=.*positive.*got 0\.0"),
        (Polynomial(0), r"degree=.*positive integer.*got 0"),
        (Polynomial(1.5), r"degree=.*positive integer.*got 1\.5"),
        (Polynomial(2, -1.0), r"offset=.*negative.*got -1\.0"),
    ],
)
def test_wrong_parameters_are_named_with_their_value(kernel, words, X):
    with pytest.raises(ValueError, match=words):
        kernel.resolve(X, np.ones(X.shape, bool))


def test_an_unresolved_width_says_how_to_resolve_it(X):
    with pytest.raises(ValueError, match=r"resolve\(X, mask\)"):
        RBF().gram(X)


@every_kernel
def test_clone_is_another_object_with_the_same_parameters(kernel, X):
    copy = clone(kernel)
    assert copy is not kernel
    assert repr(copy) == repr(kernel)
    assert np.array_equal(copy.gram(X), kernel.gram(X))


def test_linear_has_no_parameters():
    assert Linear().get_params() == {}
