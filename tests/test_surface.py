"""From a matrix with holes to a surface: choices, limits, and which rows are determined."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from polycomplete import (
    NLMC,
    PMC,
    AdamPlus,
    Exact,
    datasets,
    masks,
    metrics,
    model_selection,
)
from polycomplete.solvers.base import Monitor


def manifold(n=100, m=10, rate=0.85, seed=0, **options):
    X = datasets.make_polynomial_manifold(n, m, random_state=seed, **options)
    return X, masks.uniform(X.shape, rate, random_state=seed)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("solver", [None, Exact(blend=False)], ids=["default", "unblended"])
def test_a_row_with_one_entry_on_a_sheet_is_not_determined(seed, solver):
    X, mask = manifold(seed=seed, degree=3)
    mask[7] = np.arange(10) == 0
    pmc = PMC(smoothing=1e-9, solver=solver).fit(masks.apply(X, mask))
    assert np.flatnonzero(~pmc.row_determined_).tolist() == [7]


def test_noise_does_not_hide_what_is_not_determined():
    X, mask = manifold(degree=3)
    mask[7] = np.arange(10) == 0
    pmc = PMC(noise=100.0, smoothing=1e-4).fit(masks.apply(X, mask))
    assert not pmc.row_determined_[7]
    assert pmc.row_determined_.mean() > 0.9


@pytest.mark.parametrize("columns", [256, 257])
def test_deviations_of_wide_rows_are_calibrated_too(columns):
    X, mask = manifold(n=50, m=columns, rate=0.7)
    noisy = X + 0.1 * X.std(axis=0) * np.random.default_rng(0).standard_normal(X.shape)
    pmc = PMC(random_state=0)
    completed = pmc.fit_transform(masks.apply(noisy, mask))
    assert type(pmc.solver_) is Exact
    assert_array_equal(pmc.cell_std_[mask], 0)
    assert (pmc.cell_std_[~mask] > 0).all()
    assert 0.55 < np.mean(np.abs(completed - noisy)[~mask] < pmc.cell_std_[~mask]) < 0.8
    assert (pmc.held_out_.deviation > 0).all()


def test_smoothing_ends_small_without_noise_and_not_with_noise():
    X, mask = manifold(rate=0.7)
    rng = np.random.default_rng(0)
    noisy = X + 0.3 * X.std(axis=0) * rng.standard_normal(X.shape)
    clean, rough = (PMC(random_state=0).fit(masks.apply(Y, mask)) for Y in (X, noisy))
    assert clean.smoothing_ == Exact.default_smoothing
    assert rough.smoothing_ >= 1e-4


def test_columns_of_similar_spread_need_no_choice_and_others_are_chosen_by_hiding():
    X, mask = manifold(rate=0.7)
    units = 10.0 ** np.arange(10)
    assert PMC(random_state=0).fit(masks.apply(X, mask)).scale_ == "sqrt"
    chosen = PMC(random_state=0)
    completed = chosen.fit_transform(masks.apply(X * units, mask)) / units
    assert chosen.scale_ == "standard"
    assert metrics.rse(X, completed, mask) < 0.05


def test_too_few_entries_to_hide_means_caution():
    X, mask = manifold(n=8, m=3, rate=0.8)
    assert PMC(random_state=0)._surface(seed=0).search.select(X, mask)[:2] == (
        "sqrt",
        model_selection.CAUTIOUS,
    )


def test_noise_in_a_small_table_is_not_followed():
    X = np.random.default_rng(0).standard_normal((40, 6))
    mask = masks.uniform(X.shape, 0.8, random_state=0)
    pmc = PMC(random_state=0)
    assert metrics.nrmse(X, pmc.fit_transform(masks.apply(X, mask)), mask) < 1.2
    assert pmc.smoothing_ >= 0.1


def test_time_stamps_do_not_hide_the_other_columns():
    X, mask = manifold(n=100, m=6, rate=0.8)
    stamps = 1.6e18 + np.random.default_rng(0).integers(0, 10**17, 100)
    mixed, seen = np.c_[stamps, X], np.c_[np.ones(100, dtype=bool), mask]
    completed = PMC(random_state=0).fit_transform(masks.apply(mixed, seen))
    assert metrics.nrmse(X, completed[:, 1:], mask) < 0.5  # mean imputation: 1


@pytest.mark.parametrize("smoothing", ["auto", 1e-9])
def test_a_fit_out_of_time_says_so_and_keeps_what_it_reached(smoothing):
    X, mask = manifold(n=200, m=20, rate=0.5)
    pmc = PMC(smoothing=smoothing, solver=Exact(time_limit=0.2), random_state=0)
    with pytest.warns(ConvergenceWarning, match="time limit .*before it converged"):
        completed = pmc.fit_transform(masks.apply(X, mask))
    assert pmc.result_.stop == "time_limit"
    assert pmc.smoothing_ == pmc.result_.smoothing > 1e-9
    assert np.isfinite(completed).all()


def test_a_path_out_of_time_is_not_taken_for_data_without_noise():
    X, mask = manifold(n=200, rate=0.7)
    noisy = X + 0.3 * X.std(axis=0) * np.random.default_rng(0).standard_normal(X.shape)
    recipe = PMC(solver=Exact(time_limit=1e-6), random_state=0)._surface(seed=0)
    assert recipe.search.select(noisy, mask)[1] == Exact().initial_smoothing


def test_another_solver_is_welcome():
    class Means(AdamPlus):
        default_smoothing = 1e-3

        def solve(self, problem, smoothing, init=None):
            X = np.where(problem.mask, problem.X, 0.0)
            return Monitor().result(X, "converged", problem.kernel)

    X, mask = manifold(n=30, m=4)
    pmc = PMC(solver=Means(), scale="standard")
    assert np.isfinite(pmc.fit_transform(masks.apply(X, mask))).all()
    assert pmc.smoothing_ == 1e-3
    with pytest.raises(TypeError, match=r"Means\(\) has no path of decreasing smoothing"):
        next(pmc.path(masks.apply(X, mask)))


def test_completing_new_rows_leaves_the_model_as_it_was():
    X, mask = manifold(n=60, m=6)
    pmc = PMC(smoothing=1e-6).fit(masks.apply(X, mask))
    before = pickle.dumps(pmc)
    first = pmc.transform(masks.apply(X[:3], mask[:3]))
    np.testing.assert_array_equal(pmc.transform(masks.apply(X[:3], mask[:3])), first)
    assert len(pickle.dumps(pmc)) == len(before)


def test_a_callback_may_hold_what_cannot_be_copied(tmp_path):
    X, mask = manifold(n=40, m=6)
    with (tmp_path / "log").open("w") as log:
        solver = Exact(callback=lambda progress: log.write(f"{progress}\n") < 0)
        PMC(solver=solver, random_state=0).fit(masks.apply(X, mask))
    assert "objective=" in (tmp_path / "log").read_text()


def test_blending_keeps_observed_entries_to_the_last_bit():
    X = datasets.make_polynomial_manifold(120, 10, random_state=0)
    mask = masks.per_row(X.shape, 3, random_state=0)
    pmc = PMC(smoothing=1e-6, scale=None, solver=Exact(n_restarts=0, rounds=3))
    with pytest.warns(match="did not converge"):
        pmc.fit(masks.apply(X, mask))
    assert not pmc.row_determined_.all()
    np.testing.assert_array_equal(pmc.model_.rows[mask], X[mask])


def test_the_papers_settings_put_nlmc_behind_pmc_w():
    """The paper's claim on its own data with its own algorithm: n = 200, half observed."""
    X, mask = manifold(n=200, m=20, rate=0.5, seed=0)
    given = masks.apply(X, mask)
    methods = (method(solver=AdamPlus(), scale=None) for method in (NLMC, PMC))
    nlmc, pmc_w = (metrics.rse(X, method.fit_transform(given), mask) for method in methods)
    assert pmc_w < 0.8 * nlmc
    assert nlmc < 0.05


def test_the_residual_of_an_earlier_fit_does_not_survive():
    X, mask = manifold(n=40, m=6)
    pmc = PMC(noise=10.0, smoothing=1e-3).fit(masks.apply(X, mask))
    assert hasattr(pmc, "residual_")
    pmc.set_params(noise=None).fit(masks.apply(X, mask))
    assert not hasattr(pmc, "residual_")


def test_a_column_that_does_not_vary_among_the_rows_to_choose_by_is_not_judged():
    X, mask = manifold(60)
    X[:, 3] = 1.0
    chosen = PMC()._surface(0, len(X)).search.select(X, mask)
    assert chosen.smoothing < 1e-2
    assert chosen.trials


@pytest.mark.parametrize(("noise", "expected"), [(0.0, 2), (1.0, 5)])
def test_small_tables_are_judged_by_more_hidden_entries_where_noise_sets_the_error(
    noise, expected, monkeypatch
):
    X, mask = manifold(n=80)
    X = X + noise * X.std(axis=0) * np.random.default_rng(0).standard_normal(X.shape)
    followed = []

    def follow(path, truth, hidden, *args):
        followed.append((hidden.sum(), args[1]))
        return followed_as_is(path, truth, hidden, *args)

    followed_as_is = model_selection.follow
    monkeypatch.setattr(model_selection, "follow", follow)
    PMC(scale="standard", random_state=0)._surface(seed=0).search.select(X, mask)
    assert len(followed) == expected
    counts, ends = zip(*followed, strict=True)
    assert sum(counts) >= (model_selection.CERTAIN if noise else model_selection.ENOUGH)
    # The first ones show down to where it is worth while to go.
    assert ends[:2] == (0.0, 0.0)
    assert all(0 < end <= 1 for end in ends[2:])
