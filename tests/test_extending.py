"""A kernel, a penalty and a named method are one new class each, without any other change."""

import numpy as np
import pytest

from polycomplete import Completer, Exact, Landmark, Schatten, datasets, masks, methods, metrics
from polycomplete.diagnostics import check_gradient
from polycomplete.kernels import Kernel, typical_distance
from polycomplete.methods import registry

X = datasets.make_polynomial_manifold(80, 8, n_dims=1, random_state=0)
MASK = masks.uniform(X.shape, 0.7, random_state=0)
GIVEN = masks.apply(X, MASK)
SOLVERS = [Exact(), Landmark()]


class Cauchy(Kernel):
    """1 / (1 + |x − y|² / 2σ²): all that a kernel has to define."""

    def __init__(self, width="auto"):
        self.width = width

    def resolve(self, X, mask):
        return self if self.width != "auto" else Cauchy(3 * typical_distance(X, mask))

    def gram(self, X, Y=None):
        Y = X if Y is None else Y
        return 1 / (1 + ((X[:, None] - Y[None]) ** 2).sum(axis=2) / (2 * self.width**2))

    def slopes(self, X, Y, K):
        return (K**2 / self.width**2,) * 2

    def diagonal(self, X):
        return np.ones(len(X))

    def diagonal_slope(self, X):
        return np.zeros(len(X))

    def metric(self, X):
        return np.full(len(X), self.width**-2.0), np.zeros(len(X))


class Rational(Schatten):
    """Σ w λ / (λ + γ) instead of a power: bounded, so large eigenvalues are free."""

    def resolve(self, X, mask):
        return Rational(self.p, super().resolve(X, mask).weights)

    def value(self, eigenvalues, weights, gamma):
        return float(np.sum(weights * eigenvalues / (eigenvalues + gamma)))

    def slope(self, eigenvalues, weights, gamma):
        return weights * gamma / (eigenvalues + gamma) ** 2


class Named(Completer):
    """A named method: a composition."""

    def _kernel(self):
        return Cauchy()

    def _penalty(self, solver):
        return Rational()


def error(completer):
    completed = completer.set_params(smoothing=1e-5, scale="standard").fit_transform(GIVEN)
    assert np.array_equal(completed[MASK], X[MASK])
    assert np.isfinite(completer.cell_std_).all()
    again = completer.transform(GIVEN[:20])
    assert metrics.rse(X[:20], again, MASK[:20]) < 0.05
    return metrics.rse(X, completed, MASK)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "parts", [{"kernel": Cauchy()}, {"penalty": Rational()}], ids=["kernel", "penalty"]
)
def test_a_part_is_one_class(parts, solver):
    assert error(Completer(**parts, solver=solver, random_state=0)) < 0.02


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_a_named_method_is_one_class(solver):
    named = Named(solver=solver, random_state=0)
    assert error(named) < 0.02
    assert str(named.report(GIVEN, named.transform(GIVEN))).startswith(
        "<report of Named on 80 rows"
    )


def test_a_name_is_one_entry(monkeypatch):
    entry = methods.Method("named", "Named", Named, "nowhere", {"noise": 10.0})
    monkeypatch.setattr(registry, "METHODS", {**methods.METHODS, "named": entry})
    assert "named" in methods.names("completer")
    named = methods.get("Named", smoothing=1e-3)
    assert (type(named), named.noise, named.smoothing) == (Named, 10.0, 1e-3)


@pytest.mark.parametrize(("kernel", "penalty"), [(Cauchy(), Schatten()), (Cauchy(), Rational())])
def test_their_gradients_are_right(kernel, penalty):
    given = np.where(MASK, X, 0)
    problem = Exact().pose(given, MASK, kernel.resolve(given, MASK), penalty.resolve(given, MASK))
    assert check_gradient(lambda x: problem.value_and_gradient(x, 1e-2), problem.pack(given)).passed
