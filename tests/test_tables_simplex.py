"""Completed blocks become probabilities: the nearest ones, and calibrated ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import softmax

from polycomplete.tables import Calibration, project

NUMBERS = st.floats(-1e6, 1e6)
BLOCKS = stnp.arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=NUMBERS)


def log_loss(probabilities, labels):
    return -np.mean(np.log(probabilities[np.arange(len(labels)), labels]))


@given(BLOCKS)
def test_projections_lie_on_the_simplex(block):
    found = project(block)
    assert (found >= 0).all()
    assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    assert_allclose(project(found), found, atol=1e-12)


@given(BLOCKS, st.integers(0, 4))
def test_no_corner_nor_point_between_is_nearer(block, corner):
    # A projection y onto a convex set has (z - y)·(x - y) <= 0 for every z of the set.
    found = project(block)
    other = np.eye(block.shape[1])[corner % block.shape[1]]
    scale = 1 + np.abs(block).max()
    assert (np.sum((other - found) * (block - found), axis=1) <= 1e-9 * scale).all()


def test_a_general_solver_finds_the_same_point():
    block = np.random.default_rng(0).normal(size=(5, 4))
    for row, found in zip(block, project(block), strict=True):
        solved = minimize(
            lambda p, row=row: np.sum((p - row) ** 2),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            method="SLSQP",
            tol=1e-12,
        )
        assert_allclose(found, solved.x, atol=1e-5)


def test_no_rows_give_no_rows():
    assert project(np.empty((0, 3))).shape == (0, 3)
    assert Calibration(np.full(3, 1 / 3)).apply(np.empty((0, 3))).shape == (0, 3)


def test_projecting_keeps_the_arguments():
    block = np.array([[2.0, 1.0]])
    project(block)
    assert_array_equal(block, [[2.0, 1.0]])


@given(BLOCKS, st.data())
def test_calibrated_scores_are_probabilities(block, data):
    labels = data.draw(
        stnp.arrays(int, len(block), elements=st.integers(0, block.shape[1] - 1)), "labels"
    )
    found = Calibration.fit(block, labels).apply(block)
    assert (found >= 0).all()
    assert_allclose(found.sum(axis=1), 1)


@pytest.fixture(scope="module")
def shrunken():
    """Give true probabilities, labels drawn from them, and scores drawn towards the shares."""
    rng = np.random.default_rng(0)
    truth = softmax(2.5 * rng.normal(size=(2000, 3)) + [1.0, 0.0, -1.0], axis=1)
    labels = np.array([rng.choice(3, p=p) for p in truth])
    shares = truth.mean(axis=0)
    return truth, labels, shares + 0.4 * (truth - shares)


def test_what_was_drawn_to_the_mean_is_made_sharp_again(shrunken):
    truth, labels, scores = shrunken
    half = slice(0, 1000)
    found = Calibration.fit(scores[half], labels[half]).apply(scores[1000:])
    raw, best = (
        log_loss(project(scores[1000:]), labels[1000:]),
        log_loss(truth[1000:], labels[1000:]),
    )
    # Most of what the scores had lost is back: their log-loss is 0.8, that of the truth 0.5.
    assert log_loss(found, labels[1000:]) < best + 0.2 * (raw - best)


def test_good_probabilities_are_left_about_alone(shrunken):
    truth, labels, _ = shrunken
    found = Calibration.fit(truth, labels).apply(truth)
    assert np.abs(found - truth).max() < 0.05


def test_scores_without_information_give_the_shares():
    rng = np.random.default_rng(1)
    labels = rng.choice(2, size=5000, p=[0.8, 0.2])
    found = Calibration.fit(rng.random((5000, 2)), labels).apply(rng.random((50, 2)))
    assert np.abs(found - [0.8, 0.2]).max() < 0.05


@pytest.mark.parametrize("fitted", [(3.0, 0.1, -1.0), (0.3, 0.01, 0.5), (1.0, 0.0, 2.0)])
def test_scores_that_say_nothing_give_the_shares_whatever_was_fitted(fitted):
    shares = np.array([0.6, 0.3, 0.1])
    found = Calibration(shares, *fitted)
    assert_allclose(found.apply(shares[None])[0], shares)
    nearly = found.apply((shares + np.array([1e-4, -1e-4, 0]))[None])[0]
    assert np.abs(nearly - shares).max() < 0.01


def test_a_rare_class_gets_back_what_shrinking_took_from_it():
    rng = np.random.default_rng(0)
    labels = rng.choice(2, size=2000, p=[0.9, 0.1])
    shrunk = 0.4 * np.eye(2)[labels] + 0.6 * np.array([0.9, 0.1]) + rng.normal(0, 0.02, (2000, 2))
    found = Calibration.fit(shrunk, labels)
    assert found.tilt > 0
    assert np.mean(found.apply(shrunk).argmax(axis=1) == labels) > 0.99
    assert np.mean(shrunk.argmax(axis=1) == labels) < 0.95


def test_wrong_certainties_are_doubted(shrunken):
    labels = shrunken[1]
    rng = np.random.default_rng(2)
    certain = np.eye(3)[np.where(rng.random(len(labels)) < 0.7, labels, rng.integers(3, size=2000))]
    found = Calibration.fit(certain, labels).apply(certain)
    right = found[np.arange(2000), certain.argmax(axis=1)]
    assert abs(right.mean() - np.mean(certain.argmax(axis=1) == labels)) < 0.02


def test_nothing_hidden_leaves_the_projection_with_a_little_doubt():
    calibration = Calibration.fit(np.empty((0, 2)), np.empty(0, int), np.array([0.5, 0.5]))
    assert_allclose(calibration.apply(np.array([[3.0, 0.0]])), [[0.975, 0.025]])


def test_a_few_cells_do_not_bring_certainty():
    calibration = Calibration.fit(
        np.array([[1.0, 0.0]] * 3), np.zeros(3, int), np.array([0.5, 0.5])
    )
    assert 0.9 < calibration.apply(np.array([[1.0, 0.0]]))[0, 0] < 0.999


def test_classes_without_any_share_do_no_harm():
    scores = np.array([[0.7, 0.3, 0.0]] * 10)
    calibration = Calibration.fit(scores, np.zeros(10, int), np.array([0.5, 0.5, 0.0]))
    assert_allclose(calibration.apply(scores)[:, 2], 0, atol=1e-6)
