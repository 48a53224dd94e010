"""What single methods promise beyond what all of them do."""

from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from polycomplete import (
    KFMC,
    LADMC,
    LRMC,
    NLMC,
    PMC,
    RBF,
    SRMC,
    VMC,
    Completer,
    Exact,
    datasets,
    masks,
    methods,
    metrics,
)
from polycomplete.solvers.problem import ExactProblem, LiftProblem
from tests.conftest import QUICK

NAMES = methods.names("completer")
WRONG = {
    "SRMC smoothing": (SRMC(smoothing=-1.0), "smoothing"),
    "LADMC rank": (LADMC(rank=0), "rank"),
    "LADMC rank word": (LADMC(rank="low"), "rank"),
    "LADMC offset": (LADMC(offset=-1.0), "offset"),
    "KFMC atoms": (KFMC(n_atoms=0), "n_atoms"),
    "KFMC beta": (KFMC(beta="small"), "beta"),
    "KFMC kernel": (KFMC(kernel="rbf"), "kernel"),
    "VMC degree": (VMC(degree=2.5), "degree"),
    "VMC offset": (VMC(offset=-1.0), "offset"),
    "VMC solver": (VMC(solver="fast"), "solver"),
    "LRMC scale": (LRMC(scale="big"), "scale"),
}


@pytest.fixture(scope="module")
def subspaces():
    """Give three planes through the origin of R^8."""
    X = datasets.make_union_of_subspaces(240, 8, n_subspaces=3, dim=2, random_state=1)
    mask = masks.uniform(X.shape, 0.75, random_state=1)
    return X, mask, masks.apply(X, mask)


@pytest.fixture(scope="module")
def curve():
    """Give a curve in ten dimensions, many rows."""
    X = datasets.make_polynomial_manifold(400, 10, n_dims=1, degree=3, random_state=0)
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    return X, mask, masks.apply(X, mask)


@pytest.mark.parametrize(("completer", "name"), WRONG.values(), ids=WRONG)
def test_a_wrong_parameter_is_named(completer, name, problem):
    with pytest.raises((ValueError, TypeError), match=f"{name}.*got|got.*{name}"):
        completer.fit(problem.X)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "lrmc"])
def test_curved_data_are_completed_better_than_by_low_rank(name, curve):
    X, mask, given = (part[:150] for part in curve)
    low = metrics.rse(X, LRMC().fit_transform(given), mask)
    error = metrics.rse(X, methods.get(name, random_state=0).fit_transform(given), mask)
    assert error < 0.5 * low


@pytest.mark.parametrize("method", [VMC, LADMC])
def test_unions_of_subspaces_are_recovered(method, subspaces):
    X, mask, given = subspaces
    completer = method(offset=0, scale=None, random_state=1)
    low = metrics.rse(X, LRMC(scale=None).fit_transform(given), mask)
    assert metrics.rse(X, completer.fit_transform(given), mask) < 0.01 < 0.1 < low


def test_vmc_works_on_features_where_rows_are_many(monkeypatch, curve):
    posed, pose = [], Exact.pose
    monkeypatch.setattr(Exact, "pose", lambda *a, **k: posed.append(pose(*a, **k)) or posed[-1])
    X, mask, given = curve
    lift, exact = (
        VMC(solver=solver, smoothing=1e-6, scale="standard", random_state=0).fit(given)
        for solver in (None, Exact(eigen="full", blend=False))
    )
    assert [type(problem) for problem in posed] == [LiftProblem, ExactProblem]
    assert lift.solver_.blend is False
    np.testing.assert_allclose(lift.result_.X, exact.result_.X, atol=1e-2)
    assert metrics.rse(X, lift.transform(given), mask) < 0.05


def test_batches_teach_what_all_rows_together_do(curve):
    X, mask, given = curve
    online = KFMC(random_state=0)
    for batch in np.split(np.arange(400), 4):
        assert online.partial_fit(given[batch]) is online
    together = metrics.rse(X, KFMC(random_state=0).fit_transform(given), mask)
    assert metrics.rse(X, online.transform(given), mask) < max(2 * together, 0.05)


def test_a_batch_of_another_width_is_refused(curve):
    online = KFMC(random_state=0).partial_fit(curve[2][:50])
    with pytest.raises(ValueError, match="features"):
        online.partial_fit(curve[2][50:100, :5])


def test_a_first_batch_of_constants_teaches_nothing_yet(curve):
    online = KFMC(random_state=0).partial_fit(np.full((5, 10), 3.0))
    assert online.model_ is None
    assert online.partial_fit(curve[2][:50]).model_ is not None


def test_a_batch_without_entries_changes_nothing(curve):
    online = KFMC(random_state=0).partial_fit(curve[2][:60])
    before = online.transform(curve[2])
    online.partial_fit(np.full((3, 10), np.nan))
    np.testing.assert_array_equal(online.transform(curve[2]), before)
    assert not online.row_determined_.any()


def test_kfmc_learns_on_some_rows_and_completes_them_all(curve):
    X, mask, given = curve
    completer = KFMC(max_samples=150, random_state=0)
    assert metrics.rse(X, completer.fit_transform(given), mask) < 0.1


@pytest.mark.parametrize("cls", [PMC, NLMC, VMC])
def test_a_composition_has_all_parameters_of_its_parent_but_its_parts(cls):
    assert Completer().get_params().keys() - {"kernel", "penalty"} <= cls().get_params().keys()


@pytest.mark.parametrize("cls", [Completer, PMC, NLMC, KFMC])
def test_a_nested_parameter_does_not_leak_into_other_instances(cls):
    assert cls().set_params(kernel__width=2.0).kernel.width == 2.0
    assert cls().kernel is None


@pytest.mark.parametrize("cls", [Completer, PMC, NLMC, KFMC])
def test_no_instance_shares_its_default_kernel_with_others(cls, curve):
    given = curve[2][:40]
    fixed = {"beta": 1e-3} if cls is KFMC else QUICK
    usual = cls(**fixed | {"random_state": 0}).fit_transform(given)
    with suppress(AttributeError):  # nothing to change is as good
        cls().kernel.width = 0.01
    assert_array_equal(cls(**fixed | {"random_state": 0}).fit_transform(given), usual)
    same = cls(kernel=RBF(), **fixed | {"random_state": 0})
    assert_array_equal(same.fit_transform(given), usual)
    assert repr(cls()) == f"{cls.__name__}()"
    with pytest.raises(ValueError, match="Invalid parameter 'kernel'"):
        LRMC().set_params(kernel__width=2.0)
