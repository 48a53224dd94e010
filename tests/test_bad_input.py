"""Odd and wrong input: the right answer, or one clear sentence."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from polycomplete import (
    KFMC,
    LADMC,
    LRMC,
    NLMC,
    PMC,
    RBF,
    SRMC,
    VMC,
    AdamPlus,
    Completer,
    Exact,
    Landmark,
    Polynomial,
    Schatten,
    Skip,
    methods,
)

NAN = np.nan
SMALL = {
    "one entry": ([[5.0]], [[5.0]]),
    "one row": ([[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]]),
    "one row with a hole": ([[1.0, NAN, 3.0]], [[1.0, 3.0]]),
    "one column": ([[1.0], [NAN], [3.0]], [[1.0], [2.0], [3.0]]),
    "two rows": ([[1.0, NAN], [2.0, 3.0]], [[1.0, 3.0], [2.0, 3.0]]),
    "two rows, three columns": ([[1, NAN, 4], [2, 3, 5]], [[1, 3, 4], [2, 3, 5]]),
    "one row again and again": ([[1.0, 2.0], [1.0, NAN], [1.0, 2.0]], [[1.0, 2.0]] * 3),
    "whole numbers": ([[1, 2], [3, 4], [5, 7]], [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]),
    "booleans": ([[True, False], [False, False]], [[1.0, 0.0], [0.0, 0.0]]),
}
REFUSED = {
    "no rows": (np.empty((0, 3)), "0 sample"),
    "no columns": (np.empty((3, 0)), "0 feature"),
    "an empty list": ([], "2D array"),
    "a frame without rows": (pd.DataFrame({"a": [1.0]}).iloc[:0], "0 sample"),
    "a frame without columns": (pd.DataFrame(index=[1, 2]), "0 feature"),
    "everything missing": (np.full((4, 3), NAN), "no observed entry in its 4 rows and 3 columns"),
    "one missing entry": ([[NAN]], "no observed entry"),
    "1-d": (np.ones(3), "Expected 2D array"),
    "a column of a frame": (pd.Series([1.0, 2.0]), "Expected 2D array"),
    "3-d": (np.ones((2, 2, 2)), "dim 3"),
    "a number": (5.0, "Expected 2D array"),
    "text": (pd.DataFrame({"n": [1.0, 2.0], "city": ["Ulm", "Bonn"]}), "'city' holds 'Ulm'"),
    "infinity": ([[1.0, 2.0], [3.0, np.inf]], r"row 1, column 1.*replace inf by NaN"),
    "minus infinity": ([[1.0, -np.inf], [3.0, 2.0]], r"row 0, column 1.*replace inf by NaN"),
}
WRONG = {
    "weights": (PMC(weights="X"), "weights must be one of .*, got 'X'"),
    "scale": (PMC(scale="log"), "scale must be \"auto\" or one of .*'range'.*, got 'log'"),
    "smoothing word": (PMC(smoothing="fine"), "smoothing must be .*positive number, got 'fine'"),
    "smoothing": (PMC(smoothing=-1.0), r"smoothing must be .*positive number, got -1\.0"),
    "smoothing zero": (PMC(smoothing=0), "smoothing must be .*positive number, got 0"),
    "no smoothing": (PMC(smoothing=None), "smoothing must be .*positive number, got None"),
    "device": (PMC(device="gpu"), 'device must be "cpu", "cuda".*, got \'gpu\''),
    "cores": (PMC(n_jobs=0), "n_jobs must be a positive integer, or -1, got 0"),
    "part of a core": (PMC(n_jobs=1.5), r"n_jobs must be a positive integer.*, got 1\.5"),
    "eigen": (PMC(solver=Exact(eigen="half")), r"Exact\(eigen=...\) must be .*, got 'half'"),
    "kernel": (PMC(kernel="rbf"), "kernel must be .*got 'rbf'"),
    "p": (NLMC(p=3), "p must be a number, at most 2, got 3"),
    "p word": (NLMC(p="small"), "p must be a number, at most 2, got 'small'"),
    "penalty": (Completer(penalty="nuclear"), "penalty must be .*got 'nuclear'"),
    "skip": (Completer(penalty=Schatten(0.5, Skip(-1))), r"Skip\(s=...\) must be .*, got -1"),
    "landmark with p": (
        Completer(penalty=Schatten(2.0), solver=Landmark()),
        r"Landmark\(\) needs .* p of at most 1, got Schatten\(p=2\.0",
    ),
    "landmark with noise": (PMC(solver=Landmark(), noise=1.0), "keeps observed entries"),
    "weights word": (
        Completer(penalty=Schatten(0.5, "ramp")),
        r"Schatten\(weights=...\) must be an object such as Ramp\(\), got 'ramp'",
    ),
    "width": (PMC(kernel=RBF(width=np.inf)), r"RBF\(width=...\) must be .*got inf"),
    "solver step": (
        PMC(solver=Exact(max_iter=0)),
        r"Exact\(max_iter=...\) must be a positive number, got 0",
    ),
    "memory word": (PMC(solver=Exact(max_memory="1GB")), r"Exact\(max_memory=...\) must be"),
    "noise": (PMC(noise=-1.0), r"noise must be .*positive number, got -1\.0"),
    "noise word": (PMC(noise="low"), "noise must be .*positive number, got 'low'"),
    "endless noise": (PMC(noise=np.inf), "noise must be .*positive number, got inf"),
    "solver": (PMC(solver="adam"), "solver must be a Solver object, got 'adam'"),
    "solver class": (PMC(solver=Exact), "solver must be a Solver object, got <class"),
    "algorithm": (PMC(solver=Exact(algorithm="big")), "algorithm must be one of .*, got 'big'"),
    "init": (PMC(solver=Exact(init="one")), "init must be one of .*, got 'one'"),
    "missing_values": (PMC(missing_values="!"), "missing_values must be a number.*got '!'"),
}
#: Parameters of solvers that no negative number fits.
NUMBERS = {
    Exact: "initial_smoothing max_iter rounds tol n_restarts stretch max_memory",
    Landmark: "n_landmarks initial_smoothing steps_per_decade momentum "
    "n_final_sweeps max_iter n_restarts max_memory",
    AdamPlus: "max_iter step tol beta1 beta2 epsilon max_memory",
}


@pytest.mark.filterwarnings("ignore:Columns .* have no observed entry")
@pytest.mark.parametrize(("given", "expected"), SMALL.values(), ids=SMALL)
def test_the_smallest_matrices_have_the_obvious_answer(given, expected):
    completer = PMC(random_state=0)
    assert_allclose(completer.fit_transform(given), expected, rtol=1e-6)
    assert_allclose(completer.transform(given), expected, rtol=1e-6)


@pytest.mark.parametrize("name", methods.names("completer"))
def test_every_method_as_it_comes_takes_a_handful_of_entries(name):
    X = np.array([[1.0, 2.0], [2.0, NAN], [3.0, 6.0]])
    for given in X[:2], X:
        completed = methods.get(name, random_state=0).fit_transform(given)
        assert np.isfinite(completed).all()
        assert_array_equal(completed[~np.isnan(given)], given[~np.isnan(given)])


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_completed_is_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        PMC().fit(given)


@pytest.mark.parametrize(("completer", "message"), WRONG.values(), ids=WRONG)
def test_wrong_parameters_are_refused_in_one_sentence(problem, completer, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        completer.fit(problem.X)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("solver", NUMBERS, ids=lambda one: one.__name__)
def test_wrong_numbers_of_a_solver_are_named(problem, solver):
    for name in NUMBERS[solver].split():
        said = rf"{solver.__name__}\({name}=\.\.\.\) must be .*, got -1"
        with pytest.raises(ValueError, match=said):
            PMC(solver=solver(**{name: -1}), smoothing=1e-3, scale="standard").fit(problem.X)


def test_too_little_memory_is_refused_before_it_is_taken(problem):
    with pytest.raises(MemoryError, match=r"40 rows.*fewer rows.*raise max_memory"):
        PMC(solver=Exact(max_memory=1.501e8)).fit(problem.X)
    with pytest.raises(MemoryError, match=r"no two rows fit.*Landmark\(\).*raise max_memory"):
        PMC(solver=Exact(max_memory=1e4)).fit(problem.X)


def test_a_row_without_entries_gets_the_column_means(completer, problem):
    X = problem.X.copy()
    X[3] = NAN
    means = np.nanmean(X, axis=0)
    assert_allclose(completer.fit_transform(X)[3], means, rtol=1e-12)
    assert_allclose(completer.transform(X)[3], means, rtol=1e-12)
    assert not completer.row_determined_[3]
    assert completer.row_determined_.mean() > 0.5


@pytest.mark.filterwarnings("ignore:Columns .* have no observed entry")
def test_a_column_without_entries_is_dropped_or_zero(completer, problem):
    frame = pd.DataFrame(problem.X, columns=list("abcdef")).assign(c=NAN)
    expected = completer.fit_transform(frame.drop(columns="c"))
    for keep, names in (False, "abdef"), (True, "abcdef"):
        completer.set_params(keep_empty_features=keep)
        made = completer.fit_transform(frame)
        for each in made, completer.transform(frame):
            assert list(each.columns) == list(names)
            assert (each.get("c", pd.Series(0.0)) == 0).all()
        assert list(completer.get_feature_names_out()) == list(names)
        pd.testing.assert_frame_equal(made[list("abdef")], expected, check_exact=True)
    assert_array_equal(np.isnan(completer.statistics_), np.array(list("abcdef")) == "c")


def test_a_single_hole_is_filled(completer, problem):
    X = problem.truth.copy()
    X[2, 3] = NAN
    off = abs(completer.fit_transform(X)[2, 3] - problem.truth[2, 3]) / problem.truth[:, 3].std()
    assert off < (0.01 if isinstance(completer, Completer) else 0.1)


def test_a_matrix_without_holes_comes_back(completer, problem):
    assert_array_equal(completer.fit_transform(problem.truth), problem.truth)


def test_constant_columns_are_filled_with_their_constants(completer, problem):
    constants = np.array([0.0, 7.1, -1e300, 1e-300])
    X = np.hstack([np.tile(constants, (40, 1)), problem.X])
    X[::3, :4] = NAN
    for made in completer.fit_transform(X), completer.transform(X):
        assert_array_equal(made[:, :4], np.tile(constants, (40, 1)))
        assert np.isfinite(made).all()


def test_constants_alone_need_no_surface(completer):
    X = np.full((6, 3), 0.1)
    X[::2, 1] = NAN
    assert_array_equal(completer.fit_transform(X), 0.1)
    assert_array_equal(completer.transform(X), 0.1)
    assert (completer.model_, completer.result_, completer.n_iter_) == (None, None, 0)


def test_a_nearly_constant_column_stays_in_its_range(completer, problem):
    X = problem.X.copy()
    X[:, 1] = 7 + 1e-9 * problem.truth[:, 1]
    X[::3, 1] = NAN
    completed = completer.fit_transform(X)[:, 1]
    assert np.ptp(completed) < 3e-9 * np.ptp(problem.truth[:, 1])
    assert np.abs(completed - 7).max() < 3e-9 * np.abs(problem.truth[:, 1]).max()


def test_duplicated_rows_are_completed_from_each_other(surface_completer, draw):
    truth = np.repeat(draw(n=20).truth, 2, axis=0)
    X = truth.copy()
    X[::2, 2] = NAN
    completed = surface_completer.fit_transform(X)
    assert np.abs(completed - truth).max() < 0.01 * truth[:, 2].std()
    assert_allclose(surface_completer.transform(X), completed, atol=0.01 * truth[:, 2].std())


@pytest.mark.parametrize("scale", ["auto", "standard", "sqrt", "range"])
def test_the_size_of_the_numbers_does_not_matter(problem, quick, scale):
    def answers(unit):
        completer = quick(scale=scale)
        given = problem.X * unit
        return np.stack([completer.fit_transform(given), completer.transform(given)]) / unit

    plain, spread = answers(1.0), problem.truth.std(axis=0)
    for unit in 1e300, 1e-300:
        assert np.max(np.abs(answers(unit) - plain) / spread) < 1e-4


def test_unscaled_numbers_beyond_squaring_are_refused(problem, quick):
    for unit in 1e150, 1e-150, 1e300, 1e-300:
        with pytest.raises(ValueError, match="scale"):
            quick(scale=None).fit(problem.X * unit)


def test_numbers_whose_differences_overflow_are_refused(completer, problem):
    X = problem.truth / np.abs(problem.truth).max() * 1.7e308
    row, column = np.argwhere(np.abs(X) > 1e307)[0]
    with pytest.raises(ValueError, match=rf"row {row}, column {column}\).*power of ten"):
        completer.fit(X)
    X = np.where(np.isnan(problem.X), NAN, X / 17)
    assert np.isfinite(completer.fit_transform(X)).all()
    assert np.isfinite(completer.transform(X)).all()


def test_new_rows_beyond_the_range_of_numbers_are_completed_or_named(completer, problem):
    completer.fit(pd.DataFrame(problem.truth, columns=list("abcdef")))
    for value in 1e150, -1e153, 1e160, 1e200, -9e306:
        rows = pd.DataFrame(problem.truth[:4], columns=list("abcdef"))
        rows.loc[2, ["b", "e"]] = value, NAN
        try:
            assert np.isfinite(completer.transform(rows)).all(axis=None)
        except ValueError as error:
            # Methods differ in how far they see.
            assert f"Row 2 cannot be completed: its {value} in column 'b' is too far" in str(error)  # noqa: PT017
            polynomial = isinstance(getattr(completer, "kernel", None), Polynomial)
            assert polynomial or isinstance(completer, LADMC | SRMC | LRMC | VMC)


@pytest.mark.parametrize("method", [SRMC, LRMC, KFMC])
def test_unscaled_numbers_whose_squares_overflow_are_refused(problem, method):
    with pytest.raises(
        ValueError, match=r'whose square overflows .* use scale="auto" or "standard"'
    ):
        method(scale=None).fit(problem.X * 1e160)


def test_more_columns_than_rows_are_completed(completer, draw):
    truth, mask, X = draw(n=12, m=30, rate=0.9)
    means = np.where(mask, X, np.nanmean(X, axis=0))
    completed = completer.fit_transform(X)
    assert np.linalg.norm(completed - truth) < 0.5 * np.linalg.norm(means - truth)
    assert np.isfinite(completer.transform(X)).all()


def test_a_very_wide_matrix_takes_no_gigabytes(quick):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 5000))
    X[rng.random(X.shape) < 0.2] = NAN
    completer = PMC(random_state=0, keep_empty_features=True)
    tracemalloc.start()
    try:
        done = completer.fit_transform(X), completer.transform(X)
        assert tracemalloc.get_traced_memory()[1] < 8e8
    finally:
        tracemalloc.stop()
    assert np.isfinite(done).all()


def test_transform_before_fit_says_so(completer, problem):
    for call in (completer.transform, completer.get_feature_names_out):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(problem.X)


def test_transform_wants_the_columns_of_fit(problem, quick):
    completer = quick().fit(problem.X)
    with pytest.raises(ValueError, match="X has 3 features, but PMC is expecting 6"):
        completer.transform(problem.X[:, :3])
    assert completer.transform(problem.X[:0]).shape == (0, 6)
    with pytest.raises(ValueError, match=r"row 0, column 0.*replace inf by NaN"):
        completer.transform(np.full((1, 6), np.inf))


@pytest.mark.parametrize(("names", "message"), [("abcdeg", "- g"), ("abcdfe", "same order")])
def test_transform_wants_the_names_of_fit(problem, quick, names, message):
    completer = quick().fit(pd.DataFrame(problem.X, columns=list("abcdef")))
    with pytest.raises(ValueError, match=message):
        completer.transform(pd.DataFrame(problem.X, columns=list(names)))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        completer.transform(problem.X)
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        completer.get_feature_names_out(list(names))
