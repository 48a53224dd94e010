"""Rows do not run away: what is completed stays near what was observed, or is marked."""

import numpy as np
import pytest

from polycomplete import PMC, VMC, Exact, datasets, masks, metrics
from polycomplete.model_selection import follow


@pytest.fixture(scope="module")
def motion(real_data):
    """Frames of motion capture, 30 % missing, and which entries are."""
    with np.load(f"{real_data}/cmu_mocap/mocap_more.npz") as file:
        X = file["X"].T
    X = X[:, X.std(axis=0) > 1e-6]
    return X, np.random.default_rng(0).random(X.shape) < 0.3


def farthest(X, completed):
    """Return how far outside of the observed range each row goes, in ranges."""
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    width = np.where(high > low, high - low, np.inf)
    return np.max(np.maximum(low - completed, completed - high) / width, axis=1)


def test_no_row_of_motion_capture_runs_away(motion):
    truth, holes = (array[300:750] for array in motion)
    X = np.where(holes, np.nan, truth)
    pmc = PMC(smoothing=1e-5, scale="standard", random_state=1)
    completed = pmc.fit_transform(X)
    far = farthest(X, completed)
    assert not pmc.row_determined_[far > 0.5].any()
    assert not pmc.row_determined_[457 - 300]  # found no place that the others support
    assert pmc.cell_std_[457 - 300][holes[457 - 300]].min() > 0.05
    spread = np.nanstd(X, axis=0)
    off = (completed - truth) / np.where(spread > 0, spread, 1)
    determined = holes & pmc.row_determined_[:, None]
    assert np.sqrt(np.mean(off[determined] ** 2)) < 0.07
    assert np.median(np.abs(off[holes])) < 0.03


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_new_rows_that_run_away_are_marked(motion):
    truth, holes = motion
    X = np.where(holes, np.nan, truth)
    pmc = PMC(smoothing=1e-6, scale="standard", random_state=1, solver=Exact()).fit(X[400:520])
    missing = holes[200:300]
    found = pmc.model_.complete(np.where(missing, 0.0, truth[200:300]), ~missing)
    inside = np.where(missing, found.rows, np.nanmean(X[400:520], axis=0))
    away = farthest(X[400:520], inside)
    assert away.max() < 2
    assert not found.determined[away > 0.5].any()


def test_a_row_outside_that_the_others_support_stays():
    """A union of planes: one row lies outside of what was observed of its column, rightly so."""
    X = datasets.make_union_of_subspaces(150, 12, n_subspaces=3, dim=2, random_state=0)
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    vmc = VMC(degree=2, random_state=0)
    completed = vmc.fit_transform(masks.apply(X, mask))
    assert metrics.rse(X, completed, mask) < 1e-3
    far = np.flatnonzero(farthest(masks.apply(X, mask), completed) > 0.5)
    assert len(far)


def test_how_far_one_row_runs_away_does_not_choose_for_all_the_others():
    truth, hidden = np.zeros((100, 1)), np.ones((100, 1), dtype=bool)
    coarse, fine = truth + 0.2, truth + 0.1
    fine[7] = 50.0
    chosen = follow([(0.1, coarse), (0.01, fine)], truth, hidden, np.ones(1))
    assert chosen.smoothing == 0.01
    assert chosen.error < 0.2
