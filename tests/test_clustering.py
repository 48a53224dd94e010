"""Subspace clustering: each part against a naive version, the estimators, bad input, seeds."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, Lasso
from sklearn.utils.estimator_checks import parametrize_with_checks

from polycomplete import SparseSubspaceClustering, SubspaceClusterer, load, masks, metrics
from polycomplete.clustering import spectral, ssc
from polycomplete.datasets import make_union_of_subspaces
from polycomplete.solvers.sparse_representation import Admm, Misfit, ObservedMisfit

PUBLISHED = {"ridge": 0.0, "balance": False, "tol": 2e-4, "max_iter": 200}


@parametrize_with_checks(
    [
        SparseSubspaceClustering(),
        SparseSubspaceClustering(affine=True),
        SparseSubspaceClustering(n_neighbors=20),
        SubspaceClusterer(),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


def union(n=90, m=12, k=3, dim=3, seed=0, **params):
    return make_union_of_subspaces(
        n, m, n_subspaces=k, dim=dim, random_state=seed, return_labels=True, **params
    )


def rows(n=12, m=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


def codes(X, alpha, affine=False, **params):
    """Return the coefficients of each point, and outliers, when nothing moves any more."""
    params = {"ridge": 0.0, "tol": 1e-9, "max_iter": 50_000, "n_neighbors": None} | params
    return SparseSubspaceClustering(alpha=alpha, affine=affine, **params)._express(X)


def others(X, i):
    return np.delete(np.arange(len(X)), i)


def smallest_largest(X):
    """Return min_i max_j |xᵢ·xⱼ|, j ≠ i."""
    return np.min(np.max(np.abs(X @ X.T) - np.diag(np.sum(X**2, 1)), axis=1))


# The objective, point by point, against scikit-learn's coordinate descent


@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_codes_are_those_of_the_lasso_and_the_elastic_net(ridge):
    X, alpha = rows(), 8.0
    weight = alpha / smallest_largest(X)
    found = codes(X, alpha, ridge=ridge)
    assert found.converged
    for i in range(len(X)):
        D, m = X[others(X, i)], X.shape[1]
        share = 1 / (1 + ridge)
        model = ElasticNet if ridge else Lasso
        mix = {"l1_ratio": share} if ridge else {}
        oracle = model(alpha=1 / (weight * m * share), fit_intercept=False, tol=1e-13,
                       max_iter=100_000, **mix).fit(D.T, X[i])  # fmt: skip
        np.testing.assert_allclose(found.values[i, others(X, i)], oracle.coef_, atol=1e-6)
    assert np.all(np.diag(found.values) == 0)


@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_affine_codes_meet_the_optimality_conditions(ridge):
    X, alpha = rows(seed=1), 8.0
    weight = alpha / smallest_largest(X)
    C = codes(X, alpha, affine=True, ridge=ridge).values
    np.testing.assert_allclose(C.sum(axis=1), 1, atol=1e-6)
    # Minus the smooth slope is a subgradient of |c|₁, up to one number for the constraint.
    slope = weight * (X - C @ X) @ X.T - ridge * C
    for i in range(len(X)):
        kept = others(X, i)
        c, g = C[i, kept], slope[i, kept]
        used = c != 0
        assert used.sum() >= 2
        shifts = g[used] - np.sign(c[used])
        np.testing.assert_allclose(shifts, shifts.mean(), atol=1e-5)
        assert np.abs(g[~used] - shifts.mean()).max(initial=0) <= 1 + 1e-5


def test_the_outlier_term_meets_the_optimality_conditions():
    X = rows(8, 4, seed=2)
    alpha, outlier_alpha = 8.0, 3.0
    weight = alpha / smallest_largest(X)
    charge = outlier_alpha / np.sort(np.abs(X).sum(axis=1))[-2]
    found = codes(X, alpha, outlier_alpha=outlier_alpha)
    C, E = found.values, found.outliers
    residual = weight * (X - C @ X - E)
    slope = residual @ X.T
    np.fill_diagonal(slope, 0)
    for value, g, price in ((C, slope, 1.0), (E, residual, charge)):
        used = value != 0
        assert used.any()
        np.testing.assert_allclose(g[used], price * np.sign(value[used]), atol=1e-5)
        assert np.abs(g[~used]).max(initial=0) <= price + 1e-5


def test_a_gross_error_goes_to_the_outliers():
    X, truth = union(noise=0.0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[5, 3] += 4
    found = SparseSubspaceClustering(3, outlier_alpha=20, alpha=200, normalize=False).fit(X)
    assert np.unravel_index(np.abs(found.outliers_).argmax(), X.shape) == (5, 3)
    assert metrics.clustering_error(np.delete(truth, 5), np.delete(found.labels_, 5)) == 0


def test_the_ridge_leaves_the_outliers_alone():
    X = rows(8, 4, seed=2)
    weight = 8.0 / smallest_largest(X)
    found = codes(X, 8.0, outlier_alpha=3.0, ridge=2.0)
    charge = 3.0 / np.sort(np.abs(X).sum(axis=1))[-2]
    used = found.outliers != 0
    residual = weight * (X - found.values @ X - found.outliers)
    np.testing.assert_allclose(residual[used], charge * np.sign(found.outliers[used]), atol=1e-5)


@pytest.mark.parametrize("m", [3, 9])
@pytest.mark.parametrize("affine", [False, True])
def test_both_dictionaries_solve_their_quadratic_exactly(affine, m):
    X, T, weight, penalty = rows(4, m), rows(4, 6, 1), 2.0, 5.0
    D = rows(6, m, 2)
    counted = np.ones(6) if affine else None
    shared = Misfit(X, D, weight, counted)
    own = Misfit(X, np.tile(D, (4, 1, 1)), weight, counted)
    for problem in (shared, own):
        Z = problem.resolvent(np.array([[penalty]]))(T)
        slope = weight * (Z @ D - X) @ D.T + penalty * (Z - T)
        if affine:
            np.testing.assert_allclose(Z.sum(axis=1), 1)
            slope -= slope.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(slope, 0, atol=1e-10)


@pytest.mark.parametrize("affine", [False, True])
def test_all_points_as_neighbours_are_the_exact_problem(affine):
    X = rows(15, 4)
    exact = codes(X, 8.0, affine, ridge=0.5).values
    near = codes(X, 8.0, affine, ridge=0.5, n_neighbors=14)
    matrix = spectral.coefficient_matrix(near.values, near.atoms)
    np.testing.assert_allclose(matrix.toarray(), exact, atol=1e-6)


@pytest.mark.parametrize("affine", [False, True])
def test_the_nearest_are_found_across_blocks(affine):
    X = rows(300, 3)
    near = ssc.find_nearest(X, affine, 4)[0]
    if affine:
        far = np.linalg.norm(X[:, None] - X, axis=2)
    else:
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        far = -np.abs(unit @ unit.T)
    np.fill_diagonal(far, np.inf)
    np.testing.assert_array_equal(near, np.sort(np.argsort(far, axis=1)[:, :4], axis=1))


def test_the_fast_path_never_holds_a_square_matrix():
    X = rows(4000, 4)
    tracemalloc.start()
    with pytest.warns(UserWarning, match="did not converge"):
        codes(X, 8.0, n_neighbors=10, max_iter=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4000**2 * 8 / 4


def test_more_columns_than_points_change_nothing():
    X = rows(10, 4)
    turned = np.linalg.qr(rows(30, 30, 3))[0][:4]
    for near in None, 5:
        few, many = (codes(Y, 8.0, True, ridge=0.5, n_neighbors=near) for Y in (X, X @ turned))
        np.testing.assert_allclose(many.values, few.values, atol=1e-6)


def test_the_published_algorithm_and_the_balanced_one_have_one_limit():
    X = rows(10, 3)
    plain, balanced = (
        codes(X, 8.0, True, ridge=0.5, tol=tol, balance=balance).values
        for balance, tol in ((False, 1e-10), (True, 1e-9))
    )
    np.testing.assert_allclose(plain, balanced, atol=1e-6)


def test_with_a_penalty_for_each_row_no_row_depends_on_the_others():
    X, D = rows(6, 4), rows(9, 4, 1)
    found = []
    for some in slice(0, 6), slice(2, 3):
        admm = Admm((len(X[some]), 9), np.full((len(X[some]), 1), 8.0), ridge=0.5)
        misfit = ObservedMisfit(X[some], np.ones_like(X[some], dtype=bool), D, 20.0, False)
        assert admm.run(misfit, 1e-6, 5000)[1]
        found.append(admm.copies)
    np.testing.assert_allclose(found[0][2:3], found[1], atol=1e-10)


# From coefficients to clusters


def test_keeping_the_largest_against_a_loop():
    values = rows(6, 9)
    kept = spectral.keep_largest(values, 0.6)
    for row, was in zip(kept, values, strict=True):
        left = sorted(np.abs(was), reverse=True)
        count = next(c for c in range(1, 10) if sum(left[:c]) >= 0.6 * sum(left))
        assert np.count_nonzero(row) == count
        np.testing.assert_array_equal(np.sort(np.abs(row))[::-1][:count], left[:count])
    np.testing.assert_array_equal(spectral.keep_largest(values, 1), values)
    assert not spectral.keep_largest(np.zeros((2, 3)), 0.7).any()


def test_the_coefficient_matrix_is_the_coefficients_and_leaves_them_alone():
    values, atoms = (
        np.array([[0.0, 2.0], [3.0, 0.0], [4.0, 5.0]]),
        np.array([[1, 2], [0, 2], [0, 1]]),
    )
    before = values.copy()
    matrix = spectral.coefficient_matrix(values, atoms)
    np.testing.assert_array_equal(matrix.toarray(), [[0, 0, 2], [3, 0, 0], [4, 5, 0]])
    assert matrix.nnz == 4
    np.testing.assert_array_equal(values, before)


def test_sparse_and_dense_affinities_agree():
    C = rows(7, 7) * (rows(7, 7, 1) > 0)
    C[3] = 0
    dense = spectral.symmetric_affinity(C)
    np.testing.assert_allclose(spectral.symmetric_affinity(sparse.csr_matrix(C)).toarray(), dense)
    np.testing.assert_array_equal(dense, dense.T)
    assert dense.max() <= 2


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("limit", [0, 2000], ids=["iterative", "dense"])
def test_the_eigengap_counts_pieces_that_hang_together_a_little(k, limit, monkeypatch):
    monkeypatch.setattr(spectral, "_DENSE", limit)
    graph = np.kron(np.eye(k), np.ones((60, 60))) + 0.02
    assert spectral.eigengap(sparse.csr_matrix(graph) if limit == 0 else graph, 10) == k
    assert spectral.eigengap(graph[:2, :2], 10) == 2


# The estimators


@pytest.mark.parametrize("params", [{}, {"n_neighbors": 15}, PUBLISHED, {"affine": True}])
@pytest.mark.parametrize("n_clusters", [3, "auto"])
@pytest.mark.filterwarnings("ignore:The coefficients did not converge")
def test_subspaces_are_found(params, n_clusters):
    X, truth = union(120, 15)
    found = SparseSubspaceClustering(n_clusters, random_state=0, **params).fit(X)
    assert found.n_clusters_ == 3
    assert metrics.clustering_error(truth, found.labels_) <= 0.01
    assert sparse.issparse(found.affinity_matrix_) == ("n_neighbors" in params)


def test_affine_subspaces_need_the_affine_option():
    rng = np.random.default_rng(0)
    lines = [rng.standard_normal((40, 1)) * [[1, 2]] + shift for shift in ([4, 0], [0, 4])]
    X, truth = np.vstack(lines), np.repeat([0, 1], 40)  # two parallel lines in the plane
    errors = {
        affine: metrics.clustering_error(
            truth, SparseSubspaceClustering(2, affine=affine, random_state=0).fit_predict(X)
        )
        for affine in (False, True)
    }
    assert errors[True] == 0 < errors[False]


def test_large_data_take_the_fast_path(monkeypatch):
    monkeypatch.setattr("polycomplete.clustering.ssc._ALL", 100)
    X, truth = union(300, 15)
    found = SparseSubspaceClustering(3, random_state=0).fit(X)
    assert found.coefficients_.format == "csr"
    assert found.coefficients_.shape == (300, 300)
    assert metrics.clustering_error(truth, found.labels_) == 0
    dense = SparseSubspaceClustering(3, outlier_alpha=20, random_state=0).fit(X)
    assert isinstance(dense.coefficients_, np.ndarray)


def test_sparse_graphs_are_saved(tmp_path):
    found = SparseSubspaceClustering(3, n_neighbors=9, random_state=0).fit(union()[0])
    found.save(tmp_path / "a.skops")
    again = load(tmp_path / "a.skops")
    for name in "coefficients_", "affinity_matrix_":
        assert (getattr(again, name) != getattr(found, name)).nnz == 0
    assert found.coefficients_.format == "csr"  # saving leaves the estimator as it is


def test_an_unfinished_run_says_so():
    with pytest.warns(UserWarning, match="did not converge in 2 iterations.*max_iter"):
        SparseSubspaceClustering(3, max_iter=2).fit(union()[0])


def holed(rate=0.8, **params):
    X, truth = union(90, 15, dim=2, **params)
    mask = masks.uniform(X.shape, rate, random_state=0)
    return masks.apply(X, mask), mask, truth


def test_points_with_holes_are_completed_and_clustered():
    X, mask, truth = holed()
    found = SubspaceClusterer(n_clusters=3, random_state=0).fit(X)
    assert metrics.clustering_error(truth, found.labels_) == 0
    np.testing.assert_array_equal(found.completed_[mask], X[mask])
    assert np.isfinite(found.completed_).all()
    assert found.n_clusters_ == 3
    np.testing.assert_array_equal(
        found.labels_, SubspaceClusterer(n_clusters=3, random_state=0).fit_predict(X)
    )


def test_any_completer_and_any_clusterer_will_do():
    X = holed()[0]
    parts = {"completer": SimpleImputer(), "clusterer": KMeans(n_init=1)}
    found = SubspaceClusterer(n_clusters=4, random_state=0, **parts).fit(X)
    np.testing.assert_array_equal(found.completed_, SimpleImputer().fit_transform(X))
    assert found.n_clusters_ == len(set(found.labels_)) == 4
    assert parts["clusterer"].n_clusters == 8
    assert parts["clusterer"].random_state is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_with_nulls_are_taken(library):
    X = holed()[0]
    columns = {f"c{j}": [None if np.isnan(x) else x for x in X[:, j]] for j in range(X.shape[1])}
    frame = pytest.importorskip(library).DataFrame(columns)
    cut = SubspaceClusterer(n_clusters=3, completer=SimpleImputer(), random_state=0)
    labels = cut.fit_predict(frame)
    assert list(cut.feature_names_in_) == list(columns)
    np.testing.assert_array_equal(labels, cut.fit_predict(X))


def test_complete_points_are_not_completed():
    X, truth = union()
    found = SubspaceClusterer(n_clusters=3, completer=SimpleImputer(), random_state=0).fit(X)
    assert found.completer_ is None
    np.testing.assert_array_equal(found.completed_, X)
    assert metrics.clustering_error(truth, found.labels_) == 0


def test_auto_finds_the_number_of_subspaces_of_points_with_holes():
    X, _, truth = holed()
    found = SubspaceClusterer(random_state=0).fit(X)
    assert found.n_clusters_ == 3
    assert metrics.clustering_error(truth, found.labels_) == 0


@pytest.mark.parametrize("assign", ["kmeans", "discretize", "cluster_qr"])
def test_the_same_seed_gives_the_same_labels(assign):
    X = union(noise=0.3)[0]
    cut = SparseSubspaceClustering(5, assign_labels=assign, random_state=3)
    np.testing.assert_array_equal(cut.fit_predict(X), cut.fit_predict(X))


@pytest.mark.parametrize("path", [{}, {"n_neighbors": 20}])
def test_neither_the_order_nor_the_scale_of_points_matters(path):
    X, truth = union(noise=0.05)
    order = np.random.default_rng(0).permutation(len(X))
    cut = SparseSubspaceClustering(3, random_state=0, **path)
    plain = cut.fit(X).affinity_matrix_
    dense = plain.toarray() if sparse.issparse(plain) else plain
    moved = cut.fit(1000 * X[order]).affinity_matrix_
    moved = moved.toarray() if sparse.issparse(moved) else moved
    # Blocks stop when their points have converged, so that the order may matter by the tolerance.
    np.testing.assert_allclose(moved, dense[np.ix_(order, order)], atol=0.05)
    assert metrics.clustering_error(truth[order], cut.labels_) == 0


# Bad input


@pytest.mark.parametrize("clusterer", [SparseSubspaceClustering, SubspaceClusterer])
def test_more_clusters_than_points_are_refused(clusterer):
    with pytest.raises(ValueError, match="n_clusters=7 is more than the 6 points of X; ask for"):
        clusterer(n_clusters=7).fit(rows(6, 3))


@pytest.mark.parametrize("k", [1, 5, 6])
@pytest.mark.parametrize("clusterer", [SparseSubspaceClustering, SubspaceClusterer])
def test_from_one_cluster_to_as_many_as_there_are_points(clusterer, k):
    labels = clusterer(n_clusters=k, random_state=0).fit_predict(rows(6, 3))
    assert len(set(labels)) == k


@pytest.mark.parametrize("path", [{}, {"n_neighbors": 5}, {"affine": True}])
def test_duplicate_points_get_one_label(path):
    X, truth = union(60)
    X[1::2], truth[1::2] = X[::2], truth[::2]
    found = SparseSubspaceClustering(3, random_state=0, **path).fit(X)
    np.testing.assert_array_equal(found.labels_[::2], found.labels_[1::2])


@pytest.mark.parametrize("affine", [False, True])
def test_points_that_are_all_alike_or_all_zero_do_not_break_it(affine):
    for X in (np.ones((6, 3)), np.zeros((6, 3)), np.eye(6)):
        found = SparseSubspaceClustering(2, affine=affine, random_state=0).fit(X)
        assert np.isfinite(found.coefficients_).all()
        assert set(found.labels_) <= {0, 1}


def test_a_point_at_the_origin_does_not_disturb_the_others():
    X, truth = union()
    X[7] = 0
    labels = SparseSubspaceClustering(3, random_state=0).fit_predict(X)
    assert metrics.clustering_error(np.delete(truth, 7), np.delete(labels, 7)) <= 0.02


def test_a_point_without_any_entry_gets_no_label():
    X, _, truth = holed()
    X[4] = np.nan
    with pytest.warns(UserWarning, match="Rows 4 of X have no observed entry and get the label -1"):
        found = SubspaceClusterer(n_clusters=3, random_state=0).fit(X)
    assert found.labels_[4] == -1
    assert np.isfinite(found.completed_).all()
    assert metrics.clustering_error(np.delete(truth, 4), np.delete(found.labels_, 4)) == 0


def test_a_table_of_nothing_is_refused():
    X = np.full((5, 3), np.nan)
    X[0, 0] = 1
    with pytest.raises(ValueError, match="X has 1 rows with an observed entry; clustering needs 2"):
        SubspaceClusterer().fit(X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 0}, r"n_clusters' .* \[1, inf\) or a str among {'auto'}. Got 0"),
        ({"n_clusters": 2.5}, "n_clusters' .* must be an int .*Got 2.5"),
        ({"n_clusters": "many"}, "n_clusters' .* must be an int .*Got 'many'"),
        ({"n_neighbors": 0}, "n_neighbors' .*a str among {'auto'} or None. Got 0"),
        ({"max_iter": None}, "max_iter' .* must be an int .*Got None"),
        ({"alpha": 0.5}, r"alpha' .* range \(1.0, inf\). Got 0.5"),
        ({"alpha": "big"}, r"alpha' .* range \(1.0, inf\). Got 'big'"),
        ({"ridge": -1.0}, r"ridge' .* range \[0.0, inf\). Got -1.0"),
        ({"rho": 1.5}, r"rho' .* range \(0.0, 1.0\]. Got 1.5"),
        ({"normalize": "yes"}, "normalize' .*'auto'}. Got 'yes'"),
        ({"assign_labels": "guess"}, "assign_labels' .* must be a str among .* Got 'guess'"),
        ({"affine": "yes"}, "affine' .* Got 'yes'"),
        ({"outlier_alpha": 20, "n_neighbors": 3}, "outlier_alpha needs all points"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        SparseSubspaceClustering(**params).fit(rows())


def test_pairs_of_columns_are_lost_together():
    mask = masks.uniform((30, 8), 0.5, group=2, random_state=0)
    np.testing.assert_array_equal(mask[:, ::2], mask[:, 1::2])
    assert mask.sum() == 120
    assert mask.any(axis=1).all()
    with pytest.raises(ValueError, match="group=3 must divide the 8 columns"):
        masks.uniform((30, 8), 0.5, group=3)


REFUSED = {
    "text": (np.array([[1, "3"], [2, "4"]], dtype=object), "Column 1 holds '3' in row 0"),
    "text in a frame": (pd.DataFrame({"a": [1.0, 2.0], "b": ["3", "4"]}), "'b' holds '3' in row 0"),
    "dates": (pd.DataFrame({"day": pd.date_range("2020", periods=3)}), "'day' holds .*2020"),
    "periods": (pd.DataFrame({"p": pd.period_range("2020", periods=3)}), "'p' holds Period"),
    "NA": (pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}), r"NaN \(row 1, column 0;"),
    "None": (np.array([[1.0, 2.0], [None, 3.0]], dtype=object), r"NaN \(row 1, column 0;"),
    "names twice": (pd.DataFrame(np.eye(3), columns=list("aba")), "names must be unique"),
    "infinity": ([[1.0, 2.0], [3.0, np.inf]], "contains infinity .row 1, column 1"),
    "sparse": (sparse.csr_matrix(np.eye(3)), "Sparse input is not supported"),
}


@pytest.mark.parametrize(("X", "message"), REFUSED.values(), ids=REFUSED)
def test_points_that_are_no_numbers_are_refused(X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SparseSubspaceClustering(2).fit(X)


@pytest.mark.parametrize("assign", ["cluster_qr", "kmeans", "discretize"])
@pytest.mark.parametrize("X", [np.eye(6), np.kron(np.eye(4), np.ones((3, 1))), union()[0]])
def test_nothing_but_the_seed_is_random(X, assign, monkeypatch):
    drawn = np.random.default_rng

    def seeded(seed=None):
        assert seed is not None, "drawn from the system"
        return drawn(seed)

    monkeypatch.setattr(np.random, "default_rng", seeded)
    clusterer = SparseSubspaceClustering(3, assign_labels=assign, random_state=0)
    first, second = (clusterer.fit(X).labels_.tolist() for _ in range(2))
    assert first == second
