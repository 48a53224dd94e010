"""Classification and regression by completion: what comes back, for all kinds of input."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import polycomplete
from polycomplete import (
    LRMC,
    PMC,
    RBF,
    AdamPlus,
    Exact,
    Landmark,
    TransductiveClassifier,
    TransductiveRegressor,
    methods,
    metrics,
)
from polycomplete.base import BaseCompleter
from polycomplete.transduction.base import draw_rows, hold_out
from tests.conftest import COMPLETERS

#: Where the method does not matter.
CHEAP = {"estimator": KNNImputer(), "label_weight": 1.0, "random_state": 0}
#: A curved surface without second chances.
SOLVER = Exact(n_restarts=0, blend=False)
QUICK = PMC(kernel=RBF(multiple=1.5), smoothing=0.1, solver=SOLVER)
#: The same for many rows.
FAST = PMC(kernel=RBF(multiple=1.5), smoothing=0.1, solver=Landmark(n_landmarks=40))
#: The same with a smoothing and a width to choose.
OPEN = PMC(solver=SOLVER)


def blobs(n=60, classes=3, m=4, apart=4.0, missing=0.2, seed=0):
    """Return well separated groups of rows with holes, and the number of each row's group."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, m)) + apart * np.eye(m)[y]
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def half(y, seed=0):
    """Hide about half of the labels, none of the first six."""
    keep = np.random.default_rng(seed).random(len(y)) < 0.5
    keep[:6] = True
    return np.where(keep, y, -1)


def cheap(**params):
    return TransductiveClassifier(**CHEAP | params)


@pytest.fixture(scope="module")
def fitted():
    """Give a classifier as it comes, fitted, with its data."""
    X, y = blobs()
    return TransductiveClassifier(random_state=0).fit(X, half(y)), X, y


def test_labels_are_found_and_known_ones_stay(fitted):
    found, _, y = fitted
    known = half(y) >= 0
    assert metrics.classification_error(y, found.transduction_) < 0.1
    assert (found.transduction_[known] == y[known]).all()
    assert found.transduction_.dtype == y.dtype
    np.testing.assert_array_equal(found.label_distributions_[known], np.eye(3)[y[known]])


def test_known_labels_stay_even_where_they_are_absurd():
    X, y = blobs()
    told = half(y)
    told[0] = (y[0] + 1) % 3
    assert cheap().fit(X, told).transduction_[0] == told[0]


def test_probabilities_are_a_distribution_and_agree_with_the_labels(fitted):
    found, X, _ = fitted
    for chances in found.label_distributions_, found.predict_proba(X):
        assert (chances >= 0).all()
        np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (found.classes_[found.label_distributions_.argmax(axis=1)] == found.transduction_).all()
    assert (found.classes_[found.predict_proba(X).argmax(axis=1)] == found.predict(X)).all()


def test_rows_of_the_fit_and_new_ones_get_the_same_labels_where_these_are_clear(fitted):
    found, X, _ = fitted
    clear = found.label_distributions_.max(axis=1) > 0.9
    assert clear.sum() > 30
    assert np.mean(found.predict(X)[clear] == found.transduction_[clear]) > 0.95
    X_new, y_new = blobs(seed=5)
    assert metrics.classification_error(y_new, found.predict(X_new)) < 0.15


@pytest.mark.parametrize("rows", [[0], [3, 1], range(50, 60)])
def test_the_answer_for_a_row_does_not_depend_on_the_others(fitted, rows):
    found, X, _ = fitted
    rows = list(rows)
    np.testing.assert_allclose(
        found.predict_proba(X[rows]), found.predict_proba(X)[rows], rtol=1e-6, atol=1e-9
    )


def test_what_was_chosen_is_told(fitted, caplog):
    found, X, y = fitted
    assert found.label_weight_ in (0.1, 0.3, 1.0, 3.0)
    assert found.estimator_.smoothing > 0
    assert found.estimator_.kernel.multiple in (1.0, 2.0)
    with caplog.at_level(logging.INFO, "polycomplete"):
        cheap(verbose=1).fit(X, half(y))
    assert sum("chose target weight" in line for line in caplog.messages) == 1


def test_settings_that_do_as_well_are_averaged(fitted):
    found, X, _ = fitted
    assert 1 < len(found.members_) <= 3
    assert (found.members_[0].weight, found.members_[0].estimator) == (
        found.label_weight_,
        found.estimator_,
    )
    used = {(m.weight, m.estimator.kernel.multiple) for m in found.members_}
    assert len(used) == len(found.members_)
    blocks = []
    for member in found.members_:
        joint = found._joined(X, ~np.isnan(X), np.full((len(X), 3), np.nan))
        blocks.append(member.estimator.transform(joint)[:, 4:] / member.weight)
    scores = found._codec.scores(np.mean(blocks, axis=0))
    np.testing.assert_allclose(found.predict_proba(X), found.calibration_.apply(scores))


@pytest.mark.parametrize("count", [1, 3])
def test_the_best_setting_alone_warns(count):
    X, y = blobs(n=40)
    hurried = PMC(solver=Exact(max_iter=1, rounds=1))
    with pytest.warns(ConvergenceWarning, match="did not converge") as caught:
        TransductiveClassifier(hurried, n_members=count, random_state=0).fit(X, half(y))
    assert [Path(each.filename).name for each in caught] == ["test_transduction.py"]


def test_the_number_of_settings_can_be_limited():
    X, y = blobs(n=40)
    found = TransductiveClassifier(OPEN, n_members=2, random_state=0).fit(X, half(y))
    assert 1 <= len(found.members_) <= 2
    assert np.mean(found.transduction_ == y) > 0.9


def test_many_entries_are_fitted_once(monkeypatch):
    monkeypatch.setattr("polycomplete.transduction.base.LARGE", 500)
    X, y = blobs(n=60, m=9, classes=2)
    free = cheap(estimator=SimpleImputer(), label_weight="auto")
    assert len(free.fit(X, half(y)).members_) == 1
    assert len(free.fit(X[:, :5], half(y)).members_) == 3


@pytest.mark.parametrize("count", [0, -1, 1.5, "many", None])
def test_a_number_of_settings_that_makes_no_sense_is_refused(count):
    X, y = blobs()
    with pytest.raises(ValueError, match="n_members must be"):
        cheap(n_members=count).fit(X, half(y))


def test_the_same_seed_gives_the_same_answer():
    X, y = blobs(n=40, missing=0.4)
    quick = {"estimator": OPEN, "label_weight": 1.0}
    one, two = (
        TransductiveClassifier(random_state=3, **quick).fit(X, half(y)).label_distributions_
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, two)


CONVENTIONS = {
    "numbers": (np.array([10, 20, 30]), -1),
    "text": (np.array(["ant", "bee", "cat"]), None),
    "text and NaN": (np.array(["ant", "bee", "cat"]), np.nan),
    "text and NA": (np.array(["ant", "bee", "cat"]), pd.NA),
}


@pytest.mark.parametrize(("names", "hole"), CONVENTIONS.values(), ids=CONVENTIONS)
def test_labels_of_any_kind_come_back_as_they_are_called(names, hole):
    X, y = blobs()
    told = [hole if code < 0 else names[code] for code in half(y)]
    found = cheap().fit(X, told)
    assert found.classes_.tolist() == names.tolist()
    np.testing.assert_array_equal(found.transduction_, names[cheap().fit(X, half(y)).transduction_])
    assert set(found.predict(X)) <= set(names)


def test_truth_values_come_back_as_truth_values():
    X, y = blobs(classes=2)
    found = cheap().fit(X, [None if code < 0 else bool(code) for code in half(y)])
    assert found.predict(X).dtype == found.transduction_.dtype == bool
    assert np.mean(found.transduction_ == y.astype(bool)) > 0.8


def test_minus_one_and_one_ask_which_is_meant():
    X, y = blobs(classes=2)
    signs = 2 * y - 1
    with pytest.raises(ValueError, match="unlabeled=None"):
        cheap().fit(X, signs)
    assert cheap(unlabeled=None).fit(X, signs).classes_.tolist() == [-1, 1]
    assert cheap(unlabeled=-1).fit(X, signs).classes_.tolist() == [1]
    assert cheap(unlabeled=0).fit(X, np.where(half(y) < 0, 0, signs)).classes_.tolist() == [-1, 1]


def test_without_any_label_there_is_nothing_to_learn():
    X, _ = blobs()
    with pytest.raises(ValueError, match="no known label"):
        cheap().fit(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match="requires y to be passed"):
        cheap().fit(X, None)


def test_without_a_missing_label_it_is_an_ordinary_classifier():
    X, y = blobs()
    found = cheap().fit(X, y)
    np.testing.assert_array_equal(found.transduction_, y)
    assert found.score(*blobs(seed=7)) > 0.8


@pytest.mark.filterwarnings("ignore:The solver did not converge")  # too few to choose well
@pytest.mark.parametrize("method", [OPEN, LRMC()], ids=["PMC", "LRMC"])
@pytest.mark.parametrize("each", [0, 1, 2], ids=["one class", "one label each", "two labels each"])
def test_a_handful_of_labels_is_enough_to_answer(method, each):
    X, y = blobs(n=30, classes=2)
    told = np.full(len(y), -1)
    told[: 2 * each] = y[: 2 * each]
    told[0] = y[0]
    found = TransductiveClassifier(method, random_state=0).fit(X, told)
    np.testing.assert_allclose(found.label_distributions_.sum(axis=1), 1)
    if each:
        assert np.mean(found.transduction_ == y) > 0.7
    else:
        assert (found.transduction_ == y[0]).all()


def test_a_class_with_a_single_label_is_kept():
    X, y = blobs()
    told = half(y)
    told[7] = 9
    X[7] = 50.0
    found = TransductiveClassifier(OPEN, random_state=0).fit(X, told)
    assert found.classes_.tolist() == [0, 1, 2, 9]
    assert found.transduction_[7] == 9
    assert np.mean(np.delete(found.transduction_ == y, 7)) > 0.8


def test_empty_rows_get_the_shares_of_the_classes():
    X, y = blobs()
    told = half(y)
    told[-1] = -1
    X[-1] = np.nan
    X[1] = np.nan  # a row with a label and nothing else
    found = cheap().fit(X, told)
    shares = np.bincount(told[told >= 0]) / np.sum(told >= 0)
    np.testing.assert_allclose(found.label_distributions_[-1], shares, atol=1e-6)
    np.testing.assert_allclose(found.predict_proba(X)[-1], shares, atol=1e-6)


def test_empty_and_constant_columns_change_nothing():
    X, y = blobs()
    more = np.column_stack([np.full(60, np.nan), X, np.full(60, 7.0)])
    plain, wide = (cheap(estimator=LRMC()).fit(features, half(y)) for features in (X, more))
    assert wide.n_features_in_ == 6
    np.testing.assert_allclose(wide.label_distributions_, plain.label_distributions_, atol=1e-6)
    np.testing.assert_allclose(wide.predict_proba(more), plain.predict_proba(X), atol=1e-6)


def test_constant_features_leave_the_shares():
    _, y = blobs(classes=2)
    found = TransductiveClassifier(random_state=0).fit(np.ones((60, 2)), half(y))
    hidden = half(y) < 0
    shares = np.bincount(y[~hidden]) / np.sum(~hidden)
    np.testing.assert_allclose(found.label_distributions_[hidden], [shares] * hidden.sum())


def test_columns_in_other_units_change_nothing():
    X, y = blobs()
    units = np.array([1e-6, 1.0, 1e9, 3.0])
    one, two = cheap().fit(X, half(y)), cheap().fit(X * units + units, half(y))
    np.testing.assert_allclose(one.label_distributions_, two.label_distributions_, atol=1e-6)


@pytest.mark.parametrize(
    ("X", "y", "params", "message"),
    [
        ([[1.0], [np.inf]], [0, 2], {}, "infinity .row 1, column 0"),
        ([[1.0], [2.0]], [0, 2, 2], {}, "inconsistent numbers of samples"),
        ([[np.nan], [np.nan]], [0, 2], {}, "no observed entry"),
        ([[1.0], [2.0]], [0, 2], {"label_weight": 0}, "label_weight must be"),
        ([[1.0], [2.0]], [0, 2], {"label_weight": "heavy"}, "label_weight must be"),
        ([[1.0], [2.0]], [0, 2], {"max_samples": 0}, "max_samples must be"),
        ([[1.0], [2.0]], [0, 2], {"max_samples": 2.5}, "max_samples must be"),
        ([["a"], ["b"]], [0, 2], {}, "not a number"),
    ],
)
@pytest.mark.parametrize("kind", [TransductiveClassifier, TransductiveRegressor])
def test_what_cannot_be_fitted_is_refused(kind, X, y, params, message):
    with pytest.raises(ValueError, match=message):
        kind(**CHEAP | params).fit(X, y)


@pytest.mark.parametrize("method", [LogisticRegression(), "pmc"])
def test_a_method_must_complete(method):
    with pytest.raises(TypeError, match="estimator must be a completer or an imputer"):
        cheap(estimator=method).fit(*blobs())


def test_a_method_must_keep_the_columns():
    with pytest.raises(ValueError, match=r"KNNImputer returned .*\(add_indicator\)"):
        cheap(estimator=KNNImputer(add_indicator=True)).fit(*blobs())


def test_nothing_is_predicted_before_the_fit():
    for ask in cheap().predict, cheap().predict_proba, TransductiveRegressor().predict:
        with pytest.raises(NotFittedError):
            ask([[1.0]])


def test_infinities_and_other_widths_are_refused_in_new_rows(fitted):
    found, X, _ = fitted
    with pytest.raises(ValueError, match="4 features"):
        found.predict(X[:, :3])
    with pytest.raises(ValueError, match="infinity"):
        found.predict([[np.inf, 0, 0, 0]])


@pytest.mark.parametrize(
    "table",
    [
        lambda X, names: pd.DataFrame(X, columns=names, index=range(100, 160)),
        lambda X, names: pl.DataFrame(X, schema=names, nan_to_null=True),
        lambda X, names: pa.table({name: pa.array(X[:, j], from_pandas=True)
                                   for j, name in enumerate(names)}),
    ],
    ids=["pandas", "polars", "pyarrow"],
)  # fmt: skip
def test_data_frames_are_read_by_name(table):
    X, y = blobs()
    names = ["a", "b", "c", "d"]
    frame = table(X, names)
    found, plain = cheap().fit(frame, half(y)), cheap().fit(X, half(y))
    assert found.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(found.label_distributions_, plain.label_distributions_)
    np.testing.assert_array_equal(found.predict(frame), plain.predict(X))
    turned = table(X[:, ::-1], names[::-1])
    with pytest.raises(ValueError, match="same order"):
        found.predict(turned)


@pytest.mark.parametrize("imputer", [SimpleImputer(), *COMPLETERS.values()], ids=str)
def test_every_completer_completes_the_labels(imputer):
    X, y = blobs(n=30, classes=2, apart=6.0, missing=0.1)
    before = repr(imputer)
    found = TransductiveClassifier(imputer, label_weight=1.0, random_state=0).fit(X, half(y))
    wrong = metrics.classification_error(y, found.transduction_)
    assert wrong < (0.1 if isinstance(imputer, BaseCompleter) else 0.5)
    assert repr(imputer) == before
    assert found.predict(X).shape == y.shape


def test_the_algorithm_of_the_paper_has_no_path_but_weight_and_width_are_chosen_for_it():
    X, y = blobs(n=30, classes=2, missing=0.1)
    hurried = methods.get("pmc-w-paper", solver=AdamPlus(max_iter=30))
    with pytest.warns(ConvergenceWarning):
        found = TransductiveClassifier(hurried, random_state=0).fit(X, half(y))
    assert found.estimator_.kernel.multiple in (1.0, 2.0)
    assert (found.estimator_.smoothing, found.estimator_.smoothing_) == ("auto", 1e-6)
    assert np.mean(found.transduction_ == y) > 0.8


def test_a_kernel_and_a_smoothing_of_the_user_stay():
    X, y = blobs(n=30)
    mine = PMC(kernel=RBF(multiple=1.7), smoothing=0.2, solver=SOLVER)
    found = TransductiveClassifier(mine, label_weight=2, random_state=0).fit(X, half(y))
    assert found.estimator_.kernel.multiple == 1.7
    assert (found.estimator_.smoothing, found.label_weight_) == (0.2, 2.0)


def test_with_many_rows_no_class_is_lost():
    X, y = blobs(n=200, classes=3)
    rare = np.array([5, 17, 101])
    y[rare] = 3
    X[rare] = 12 + np.random.default_rng(1).normal(size=(3, 4))
    told = half(y)
    told[rare[:2]], told[rare[2]] = 3, -1
    found = cheap(estimator=QUICK, max_samples=60).fit(X, told)
    assert len(found.estimator_.row_determined_) == 60
    assert found.transduction_[rare].tolist() == [3, 3, 3]
    assert metrics.classification_error(y, found.transduction_) < 0.1


@given(st.integers(0, 50), st.integers(2, 30))
def test_rows_that_are_drawn_hold_every_class(seed, most):
    rng = np.random.default_rng(seed)
    y = rng.choice(8, size=200, p=[0.6, 0.3, 0.05, 0.01, 0.01, 0.01, 0.01, 0.01])
    rows = np.flatnonzero(rng.random(200) < 0.7)
    drawn = rows[draw_rows(y[rows], most, rng)]
    assert set(y[drawn]) == set(y[rows])
    assert len(drawn) == max(most, len(set(y[rows])))
    assert set(drawn) <= set(rows)
    assert (np.diff(drawn) > 0).all()


@given(st.integers(0, 50), st.integers(2, 60))
def test_about_half_of_each_class_is_hidden_and_never_all_of_it(seed, n):
    rng = np.random.default_rng(seed)
    y = rng.choice(4, size=n, p=[0.6, 0.3, 0.05, 0.05])
    hidden = hold_out(y, rng)
    for label, size in zip(*np.unique(y, return_counts=True), strict=True):
        count = np.count_nonzero(hidden[y == label])
        assert (size - 2) / 2 <= count <= size - 1


def test_where_labels_are_few_rows_without_one_are_learned_from_too():
    X, y = blobs(n=150)
    told = np.where(np.arange(150) < 12, y, -1)
    found, few = (cheap(estimator=LRMC(), max_samples=most).fit(X, told) for most in (60, 5))
    assert len(found.estimator_.row_determined_) == 60
    assert len(few.estimator_.row_determined_) == 5
    assert metrics.classification_error(y, found.transduction_) < 0.2


def test_a_feature_that_no_drawn_row_has_is_left_out():
    X, y = blobs(n=100)
    told = half(y)
    X[:, 3], told[99] = np.nan, -1
    X[99, 3] = 1.0
    found = cheap(max_samples=40).fit(X, told)
    np.testing.assert_array_equal(
        found.predict(X), cheap(max_samples=40).fit(X[:, :3], told).predict(X[:, :3])
    )


def test_a_saved_classifier_gives_the_same_answers(tmp_path, fitted):
    found, X, y = fitted
    number = TransductiveRegressor(**CHEAP).fit(X, np.where(half(y) < 0, np.nan, y))
    for name, one in {"classifier": found, "regressor": number}.items():
        polycomplete.save(one, tmp_path / f"{name}.skops")
        again = polycomplete.load(tmp_path / f"{name}.skops")
        np.testing.assert_array_equal(again.predict(X), one.predict(X))
        np.testing.assert_array_equal(again.transduction_, one.transduction_)
    again = polycomplete.load(tmp_path / "classifier.skops")
    np.testing.assert_array_equal(again.predict_proba(X), found.predict_proba(X))


def test_it_goes_into_pipelines_and_cross_validation():
    X, y = blobs(missing=0.1)
    pipe = make_pipeline(MinMaxScaler(), cheap())
    assert pipe.fit(X, half(y)).predict(X).shape == y.shape
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.8


def test_the_label_weight_can_be_searched_for():
    X, y = blobs(missing=0.1)
    grid = GridSearchCV(
        cheap(), {"label_weight": np.array([1, 3]), "estimator__n_neighbors": [3]}, cv=2
    )
    grid.fit(X, y)
    assert grid.best_estimator_.label_weight_ in (1.0, 3.0)
    assert clone(grid.best_estimator_).label_weight in (1, 3)


def test_calibration_makes_timid_scores_sharper():
    X, y = blobs(n=120, missing=0.0)
    told = half(y)
    found = TransductiveClassifier(PMC(smoothing=10.0), label_weight=1.0, random_state=0)
    found.fit(X, told)
    hidden = told < 0
    scores = found._codec.scores(found._complete(X))[hidden]
    chances = found.predict_proba(X)[hidden]
    assert found.calibration_.sharpness > 1.5
    assert chances.max(axis=1).mean() > scores.max(axis=1).mean() + 0.1
    assert np.mean(found.classes_[chances.argmax(axis=1)] == y[hidden]) > 0.95


def test_probabilities_mean_what_they_say():
    X, y = blobs(n=2300, classes=2, m=3, apart=1.5, missing=0.2)
    given, new = slice(300), slice(300, None)  # many new rows: few would be off by chance
    found = TransductiveClassifier(PMC(solver=Landmark()), label_weight=1.0, random_state=0)
    chances = found.fit(X[given], half(y[given])).predict_proba(X[new])
    assert 0.1 < metrics.classification_error(y[new], np.argmax(chances, axis=1)) < 0.35
    assert metrics.expected_calibration_error(y[new], chances) < 0.1


def curve(n=80, seed=0):
    """Return points of a curve with holes, the number that drives them, and what is known of it."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n)
    X = np.column_stack([t, t**2, np.sin(3 * t)])
    X[rng.random(X.shape) < 0.2] = np.nan
    y = 100 + 20 * t**3
    return X, y, np.where(rng.random(n) < 0.5, y, np.nan)


def test_numbers_are_found_and_known_ones_stay():
    X, y, told = curve()
    found = TransductiveRegressor(OPEN, random_state=0).fit(X, told)
    known = ~np.isnan(told)
    np.testing.assert_array_equal(found.transduction_[known], y[known])
    usual = np.abs(y - y[known].mean())[~known].mean()
    assert np.abs(found.transduction_ - y)[~known].mean() < 0.2 * usual
    X_new, y_new, _ = curve(seed=1)
    assert found.score(X_new, y_new) > 0.7
    np.testing.assert_allclose(found.predict(X_new[:5]), found.predict(X_new)[:5], rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_units_of_the_number_do_not_matter(unit):
    X, _, told = curve()
    one = TransductiveRegressor(**CHEAP).fit(X, told).transduction_
    two = TransductiveRegressor(**CHEAP).fit(X, told * unit).transduction_
    np.testing.assert_allclose(two / unit, one, rtol=1e-5)


@pytest.mark.parametrize("known", [1, 2, 3])
def test_a_handful_of_numbers_is_enough_to_answer(known):
    X, y, _ = curve(n=30)
    found = TransductiveRegressor(OPEN, random_state=0).fit(X, [*y[:known], *[None] * (30 - known)])
    assert np.isfinite(found.transduction_).all()
    np.testing.assert_array_equal(found.transduction_[:known], y[:known])


def test_a_number_that_never_varies_stays():
    X, _, told = curve()
    found = TransductiveRegressor(**CHEAP).fit(X, np.where(np.isnan(told), np.nan, 0.1))
    np.testing.assert_allclose(found.transduction_, 0.1)
    np.testing.assert_allclose(found.predict(X), 0.1)


def test_the_regressor_learns_from_some_of_many_rows():
    X, y, told = curve(n=150)
    found = TransductiveRegressor(
        **CHEAP | {"max_samples": 60, "estimator": clone(QUICK).set_params(smoothing=1e-3)}
    )
    hidden = np.isnan(told)
    assert (
        metrics.nrmse(y[:, None], found.fit(X, told).transduction_[:, None], ~hidden[:, None]) < 0.5
    )


@pytest.mark.parametrize("learn_from", ["auto", "all", "labeled"])
def test_the_surface_may_be_learned_from_the_labeled_rows_alone(learn_from):
    X, y = blobs(n=90)
    found = TransductiveClassifier(QUICK, label_weight=1.0, learn_from=learn_from, random_state=0)
    found.fit(X, half(y))
    labeled = np.count_nonzero(half(y) >= 0)
    assert len(found.estimator_.row_determined_) == (labeled if learn_from == "labeled" else 90)
    assert metrics.classification_error(y, found.transduction_) < 0.1


def test_many_labels_and_few_holes_leave_the_other_rows_out():
    for missing, learned_from in (0.1, 405), (0.4, 430):
        X, y = blobs(n=430, missing=missing)
        told = np.where(np.arange(430) < 405, y, -1)
        found = TransductiveClassifier(FAST, label_weight=1.0, random_state=0).fit(X, told)
        assert len(found.estimator_.row_determined_) == learned_from
        assert np.mean(found.transduction_ == y) > 0.9


@pytest.mark.parametrize("m", [64, 257, 1000])
def test_every_fitted_attribute_is_right_at_any_width(m):
    X, y = blobs(n=24, classes=2, m=m)
    told = half(y)
    found = TransductiveClassifier(LRMC(), label_weight=1.0, random_state=0).fit(X, told)
    assert (found.n_features_in_, found.classes_.tolist()) == (m, [0, 1])
    assert found.transduction_.shape == (24,)
    assert found.label_distributions_.shape == (24, 2)
    np.testing.assert_allclose(found.label_distributions_.sum(axis=1), 1)
    assert (
        found.calibration_.shares.tolist()
        == (np.bincount(told[told >= 0]) / sum(told >= 0)).tolist()
    )
    assert [(m.weight, m.width) for m in found.members_] == [(found.label_weight_, 2)] == [(1.0, 2)]
    assert found.estimator_ is found.members_[0].estimator
    assert found.estimator_.n_features_in_ == m + 2
    number = TransductiveRegressor(LRMC(), label_weight=1.0, random_state=0)
    number.fit(X, np.where(told < 0, np.nan, y))
    assert (number.n_features_in_, number.transduction_.shape) == (m, (24,))
    assert (number.label_weight_, number.estimator_.n_features_in_) == (1.0, m + 1)


def test_rows_to_learn_from_must_be_known():
    with pytest.raises(ValueError, match='learn_from must be "auto", "all" or "labeled"'):
        cheap(learn_from="some").fit(*blobs())
