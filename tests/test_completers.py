"""What every completer promises, whatever its kernel, penalty and solver."""

import logging
import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from polycomplete import (
    KFMC,
    LADMC,
    LRMC,
    NLMC,
    PMC,
    SRMC,
    VMC,
    AdamPlus,
    AugmentedLagrangian,
    Completer,
    Exact,
    Landmark,
    datasets,
    masks,
    metrics,
)
from polycomplete.solvers import Solver
from tests.conftest import COMPLETERS, QUICK

#: What a run that did not converge recommends, and such runs.
UNCONVERGED = {
    "Exact(rounds=...)": PMC(solver=Exact(tol=0.0, rounds=1, n_restarts=0)),
    "AdamPlus(max_iter=...)": PMC(solver=AdamPlus(max_iter=3)),
    "Landmark(max_iter=...)": PMC(solver=Landmark(max_iter=3), smoothing=1e-3),
    "solver=Exact(rounds=...)": VMC(solver=Exact(tol=0.0, rounds=1, n_restarts=0), smoothing=1e-3),
    "(max_iter=...) or a larger beta": KFMC(max_iter=1, tol=0.0),
    "(max_iter=...) or a larger smoothing": SRMC(max_iter=1, tol=0.0),
    "(max_iter=... of the solver)": LRMC(solver=AugmentedLagrangian(max_iter=1)),
}


def bits(values):
    return np.ascontiguousarray(values).tobytes()


def test_observed_entries_come_back_bit_identical_and_the_input_stays(completer, problem, capfd):
    X, mask = np.asfortranarray(problem.X), problem.mask
    X[np.argmax(mask[:, 0]), 0] = -0.0  # equal to 0.0, but not the same bits
    before = bits(X)
    X.setflags(write=False)
    for completed in completer.fit_transform(X), completer.transform(X):
        assert bits(completed[mask]) == bits(X[mask])
        assert np.isfinite(completed).all()
        assert completed.dtype == np.float64
    assert bits(X) == before
    assert capfd.readouterr() == ("", "")  # nothing is printed by default


def test_single_precision_stays(completer, problem):
    X = problem.X.astype(np.float32)
    assert completer.fit_transform(X).dtype == np.float32
    assert completer.transform(X).dtype == np.float32


def test_the_same_seed_gives_the_same_answer_and_leaves_the_global_state_alone(draw):
    X = draw(n=60, m=8).X  # large enough for the seed to choose what is hidden
    before = pickle.dumps(np.random.get_state())  # noqa: NPY002
    first, second = (PMC(random_state=3).fit(X) for _ in range(2))
    assert bits(first.transform(X)) == bits(second.transform(X))
    assert bits(first.fit_transform(X)) == bits(second.fit_transform(X))
    assert pickle.dumps(np.random.get_state()) == before  # noqa: NPY002
    PMC().fit(X)
    assert pickle.dumps(np.random.get_state()) != before  # noqa: NPY002  (None: as NumPy says)


def test_refitting_forgets_the_first_data(fitted, problem, draw):
    usual, expected = fitted
    completer = clone(usual).fit(draw(n=30, m=4, seed=5).X)
    assert bits(completer.fit_transform(problem.X)) == bits(expected)


def test_complete_rows_come_back_as_they_are(fitted, problem):
    assert bits(fitted[0].transform(problem.truth)) == bits(problem.truth)


def test_fit_and_transform_agree_with_fit_transform(draw):
    problem = draw(n=100, m=20, rate=0.6, seed=0, n_dims=2, degree=4)
    completer = PMC(random_state=0)
    together = completer.fit_transform(problem.X)
    apart = completer.transform(problem.X)
    difference = np.abs(apart - together) / problem.truth.std(axis=0)
    assert completer.row_determined_.sum() > 90
    assert difference[completer.row_determined_].max() < 0.01


@pytest.mark.parametrize("cls", [PMC, NLMC, Completer])
def test_training_and_new_rows_of_a_manifold_are_completed_well(cls, draw):
    problem = draw(n=90, m=8, rate=0.7, seed=0)
    old, new = slice(0, 60), slice(60, 90)
    completer = cls(random_state=0)
    completed = completer.fit_transform(problem.X[old])
    assert metrics.rse(problem.truth[old], completed, problem.mask[old]) < 0.001
    completed = completer.transform(problem.X[new])
    assert metrics.rse(problem.truth[new], completed, problem.mask[new]) < 0.001


def test_several_manifolds_need_nothing_configured(draw):
    truth, mask, X = draw(n=120, m=12, rate=0.7, seed=0, degree=4, n_manifolds=3)
    means = np.where(mask, X, np.nanmean(X, axis=0))
    error = metrics.rse(truth, PMC(random_state=0).fit_transform(X), mask)
    assert error < 0.02 < 0.9 < metrics.rse(truth, means, mask)


def test_clones_and_parameters_are_faithful(completer):
    twin = clone(completer)
    assert twin is not completer
    assert repr(twin.get_params()) == repr(completer.get_params())
    again = type(completer)(**completer.get_params(deep=False))
    assert repr(again.get_params()) == repr(completer.get_params())
    assert completer.set_params(verbose=2, scale="range") is completer
    assert (completer.get_params()["verbose"], completer.get_params()["scale"]) == (2, "range")


def test_a_nested_parameter_of_a_shared_kernel_stays_with_its_completer(problem, quick):
    first = quick().fit(problem.X)
    second = clone(first).set_params(kernel__multiple=0.5)
    assert (first.kernel, second.kernel.multiple) == (None, 0.5)
    assert (second.fit_transform(problem.X) != first.fit_transform(problem.X)).any()


def test_a_pickle_completes_new_rows_identically(fitted, draw):
    completer, rows = fitted[0], draw(n=70, seed=2).X
    thawed = pickle.loads(pickle.dumps(completer))
    assert bits(thawed.transform(rows)) == bits(completer.transform(rows))
    assert_array_equal(thawed.get_feature_names_out(), completer.get_feature_names_out())


def test_a_number_may_stand_for_missing_beside_nan(fitted, problem):
    usual, expected = fitted
    X = np.where(problem.mask, problem.X, -999.0)
    X[0, np.argmin(problem.mask[0])] = np.nan
    assert bits(clone(usual).set_params(missing_values=-999).fit_transform(X)) == bits(expected)


@pytest.mark.filterwarnings("ignore:Columns .* have no observed entry")
def test_names_follow_dropped_columns_and_indicators(problem, quick):
    X = problem.X.copy()
    X[:, 2] = np.nan
    X[:, 4] = problem.truth[:, 4]  # never missing: gets no indicator
    completer = quick(add_indicator=True)
    completed = completer.fit_transform(X)
    names = [f"x{j}" for j in (0, 1, 3, 4, 5)]
    names += [f"missingindicator_x{j}" for j in (0, 1, 2, 3, 5)]
    assert list(completer.get_feature_names_out()) == names
    assert_array_equal(completed[:, 5:], np.isnan(X[:, [0, 1, 2, 3, 5]]))
    letters = completer.get_feature_names_out(list("abcdef"))
    assert list(letters[:5]) == list("abdef")
    assert_array_equal(completer.transform(X).shape, completed.shape)


@pytest.mark.parametrize("given", [["a"], list("abcdefg")])
def test_input_features_of_the_wrong_length_are_refused(problem, quick, given):
    with pytest.raises(ValueError, match="length equal to number of features"):
        quick().fit(problem.X).get_feature_names_out(given)


def test_cross_validation_of_a_pipeline_runs(completer, problem):
    pipeline = make_pipeline(completer, StandardScaler(), Ridge(alpha=1e-3))
    scores = cross_val_score(pipeline, problem.X[:, :5], problem.truth[:, 5], cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.8


def test_grid_search_reaches_the_kernel(problem, quick):
    pipeline = make_pipeline(quick(), Ridge(alpha=1e-3))
    grid = {"pmc__kernel__multiple": [1.0, 3.0]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(problem.X[:, :5], problem.truth[:, 5])
    assert search.best_params_["pmc__kernel__multiple"] in (1.0, 3.0)
    first, second = search.cv_results_["mean_test_score"]
    assert first != second


def test_with_noise_observed_entries_stay_and_residuals_denoise_them(draw):
    clean = draw(n=60, m=8, seed=0).truth
    noisy = draw(n=60, m=8, seed=0, noise=0.05)
    mask, X = noisy.mask, noisy.X
    pmc = PMC(noise=10.0, smoothing=1e-4, random_state=0)
    completed = pmc.fit_transform(X)
    assert bits(completed[mask]) == bits(X[mask])
    assert (pmc.residual_[~mask] == 0).all()
    moved = completed - pmc.residual_
    np.testing.assert_allclose(moved, pmc.model_.scaler.undo(pmc.model_.rows), atol=1e-12)
    assert np.linalg.norm((moved - clean)[mask]) < 0.6 * np.linalg.norm((X - clean)[mask])


@pytest.mark.parametrize("verbose", [1, 2])
def test_verbose_speaks_through_logging(problem, quick, capsys, caplog, verbose):
    logger = logging.getLogger("polycomplete")
    before = (logger.level, list(logger.handlers))
    quick(verbose=verbose).fit(problem.X)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = [f"[polycomplete] {record.getMessage()}" for record in caplog.records]
    assert shown.err.splitlines() == lines
    assert {record.name for record in caplog.records} == {"polycomplete"}
    assert any("iteration" in line for line in lines) == (verbose == 2)
    assert (logger.level, logger.handlers) == before


@pytest.mark.parametrize(("remedy", "hurried"), UNCONVERGED.items(), ids=UNCONVERGED)
def test_an_unconverged_run_warns_once_with_the_remedy(problem, remedy, hurried):
    said = f"did not converge.*{re.escape(remedy)}"
    with pytest.warns(ConvergenceWarning, match=said) as caught:
        completed = clone(hurried).set_params(random_state=0).fit_transform(problem.X)
    assert len(caught) == 1
    assert np.isfinite(completed).all()


def test_the_result_tells_what_the_solver_did(fitted, problem):
    completer = fitted[0]
    result = completer.result_
    steps = len(result.objective), len(result.smoothings), result.iterations
    assert set(steps) == {completer.n_iter_}
    assert completer.n_iter_ > 0
    assert (result.stop, result.converged) == ("converged", True)
    assert result.seconds > 0
    assert result.X.shape == problem.X.shape
    assert_array_equal(result.ambiguous, ~completer.row_determined_)
    assert completer.n_features_in_ == problem.X.shape[1]
    np.testing.assert_allclose(completer.statistics_, np.nanmean(problem.X, axis=0), rtol=1e-12)
    if isinstance(completer, Completer):
        assert result.smoothing == result.smoothings[-1] == completer.smoothing_


def test_every_fitted_attribute_is_right_at_any_width(completer, draw):
    # Up to 256 columns the joint solver takes Newton steps. LADMC lifts rows to pairs of columns:
    # with a thousand of them that takes half a minute.
    for m in (64, 257) if isinstance(completer, LADMC) else (64, 257, 1000):
        _, mask, X = draw(n=16, m=m)
        completer.fit(X)
        result, missing = completer.result_, ~mask
        assert (completer.n_features_in_, completer.n_samples_seen_) == (m, 16)
        assert len(completer.get_feature_names_out()) == m
        np.testing.assert_allclose(completer.statistics_, np.nanmean(X, axis=0), rtol=1e-12)
        assert (completer.row_determined_.dtype, completer.row_determined_.shape) == (bool, (16,))
        assert completer.n_iter_ == result.iterations == len(result.objective) > 0
        assert np.isfinite(result.objective).all()
        assert (result.X.shape, np.isfinite(result.X).all()) == ((16, m), True)
        assert completer.held_out_ is None
        if isinstance(completer, Completer):
            assert completer.scale_ == "standard"
            assert completer.smoothing_ == result.smoothing > 0
            assert isinstance(completer.solver_, Solver)
            assert_array_equal(completer.cell_std_ > 0, missing)
            assert np.isfinite(completer.cell_std_).all()
            assert np.isfinite(completer.transform(X[:2])).all()


def test_a_row_whose_one_entry_fits_several_places_is_not_determined(problem):
    X = problem.X.copy()
    X[7, 1:] = np.nan
    X[7, 0] = problem.truth[0, 0]
    determined = PMC(random_state=0).fit(X).row_determined_
    assert not determined[7]
    assert determined.mean() > 0.9


def test_a_row_without_an_entry_that_varies_is_not_determined(problem, quick):
    X = problem.X.copy()
    X[:, 1] = 7.0
    X[5, [0, 2, 3, 4, 5]] = np.nan
    completer = quick()
    completed = completer.fit_transform(X)
    np.testing.assert_allclose(completed[5], np.nanmean(X, axis=0), rtol=1e-12)
    assert not completer.row_determined_[5]


@pytest.mark.parametrize("solver", [Exact(), Landmark()], ids=str)
def test_what_was_held_out_to_choose_by_is_told(solver):
    X = datasets.make_polynomial_manifold(120, 8, random_state=0)
    given = masks.apply(X, masks.uniform(X.shape, 0.8, random_state=0))
    given[4], given[:, 2] = np.nan, 1.0  # an empty row and a constant column shift the numbers
    held = PMC(solver=solver, random_state=0).fit(given).held_out_
    assert_array_equal(held.truth, given[held.rows, held.columns])
    assert np.median(np.abs(held.completed - held.truth)) < 0.2 * np.std(held.truth)
    assert PMC(solver=solver, smoothing=1e-2, scale=None).fit(given).held_out_ is None


def test_new_rows_do_not_depend_on_an_outlier_among_them(completer, draw):
    X = draw(n=70).X
    fitted, rows = completer.fit(X[:40]), X[40:].copy()
    usual = fitted.transform(rows)
    rows[3, np.flatnonzero(~np.isnan(rows[3]))[0]] = 1e3
    together = fitted.transform(rows)
    alone = np.vstack([fitted.transform(rows[i : i + 1]) for i in range(len(rows))])
    assert_array_equal(together, alone)
    others = np.arange(len(rows)) != 3
    assert_array_equal(together[others], usual[others])
    assert_array_equal(fitted.transform(rows[7:20]), together[7:20])


@pytest.mark.parametrize("name", ["ladmc", "kfmc", "pmc-w", "landmark"])
def test_new_rows_do_not_depend_on_the_kernels_of_the_machine(name, draw):
    # Large rows and several threads take other paths through BLAS.
    completer = clone({**COMPLETERS, "landmark": PMC(**QUICK | {"solver": Landmark()})}[name])
    X = draw(n=200, m=25, rate=0.7, n_dims=2).X
    with threadpool_limits(2, user_api="blas"):
        fitted, rows = completer.fit(X[:150]), X[150:]
        together = fitted.transform(rows)
        alone = np.vstack([fitted.transform(rows[i : i + 1]) for i in range(0, 50, 5)])
    assert_array_equal(together[::5], alone)
