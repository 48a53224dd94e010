"""Trials: what is declared, what a store keeps, what a run repeats."""

import json

import pytest

from experiments.families import MASKS, VARIED, draw_mask
from experiments.methods import OURS, ROWS, label, make
from experiments.page import write_page
from experiments.paper import EXPERIMENTS
from experiments.store import Store
from experiments.trials import Trial, canonical, failures, finished, in_order, results_of, run


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "trials.jsonl")


def test_every_figure_and_table_of_the_paper_is_an_experiment():
    assert {name: e.place for name, e in EXPERIMENTS.items()} == {
        "manifolds": "Figure 1",
        "single-columns": "Figure 2 (a)",
        "multi-manifolds": "Figure 2 (b)",
        "single-grid": "Figure 3",
        "multi-grid": "Figure 4",
        "hopkins": "Figure 5",
        "mocap": "Figure 6",
        "table1": "Table 1",
        "theory": "Examples 1–3, Lemma 1, Corollary 2",
        "transition": "Theorem 2, eqs. (4) and (7)",
        "sensitivity": "Algorithm 1 and R₁ to R₃",
    }
    numbers = {name: len(e.trials(quick=False)) for name, e in EXPERIMENTS.items()}
    assert numbers["single-columns"] == (10 * 25 + 2 * 10) * 50
    assert numbers["single-grid"] == 10 * 9 * 18 * 50
    assert numbers["multi-grid"] == 5 * 9 * 18 * 50
    assert numbers["hopkins"] == 5 * 2 * 7 * 18 * 20
    assert numbers["mocap"] == 2 * 7 * 18 * 10
    assert numbers["table1"] == 2 * (4 * 20 + 2 * 9) * 20
    assert numbers["sensitivity"] == 43 * 2 * 50


def test_every_setting_that_is_varied_is_run():
    told = [cell.setting for cell in EXPERIMENTS["sensitivity"].cells(quick=True)]
    varied = {(name, value) for name, values in VARIED.items() for value in values}
    assert {(setting["parameter"], setting["value"]) for setting in told} == varied


@pytest.mark.parametrize("kind", MASKS)
def test_both_kinds_of_masks_observe_the_share(kind):
    mask = draw_mask(kind, (40, 20), 0.3, 0)
    assert mask.mean() == pytest.approx(0.3)
    assert (len(set(mask.sum(axis=1))) == 1) == (kind == "per sample")
    assert draw_mask("per sample", (40, 7), 0.5, 0).sum(axis=1).max() == 3  # 3.5 removed is four
    for seed in range(20):
        assert draw_mask(kind, (20, 20), 0.1, seed).any(axis=0).all()


def test_trials_follow_the_grids_and_what_overrides_them(toy):
    assert len(toy().trials()) == 4
    assert len(toy().trials(quick=False)) == 10
    assert len(toy().trials(quick=False, number=1)) == 2
    assert toy().trials()[0] == Trial("toy", 1, '{"n": 1}', "mean", 0)
    assert canonical({"b": 1, "a": 0.5}) == '{"a": 0.5, "b": 1}'


def test_methods_that_a_setting_leaves_out_stay_out():
    mocap = EXPERIMENTS["mocap"].trials(asked=["pmc-w-authors", OURS, "knn", "SVM"])
    long = {trial.method for trial in mocap if json.loads(trial.setting)["trial"] == "06"}
    assert long == {OURS, "knn"}  # the first needs the cube of 1696, the last is of Table 1
    assert EXPERIMENTS["theory"].trials(asked=["knn"]) == EXPERIMENTS["theory"].trials()


def test_a_second_run_repeats_nothing(toy, store):
    calls = []

    def measure(setting, method, seed):
        calls.append((setting["n"], seed))
        return {"rse": 0.5}

    run([toy(measure)], store)
    assert sorted(calls) == [(1, 0), (1, 1), (2, 0), (2, 1)]
    run([toy(measure)], store)
    assert len(calls) == 4
    run([toy(measure)], store, quick=False)
    assert len(calls) == 10
    run([toy(measure, version=2)], store)
    assert len(calls) == 14
    assert len(results_of(store, toy().family)) == 10


def test_a_failing_trial_is_recorded_stops_no_other_and_is_tried_again(toy, store, tmp_path):
    broken = [True]

    def measure(setting, method, seed):
        if broken[0] and setting["n"] == 2 and seed == 1:
            raise RuntimeError("no luck")
        return {"rse": 1.0}

    run([toy(measure)], store)
    assert failures(store) == ['toy {"n": 2} mean 1: RuntimeError: no luck']
    assert len(finished(store)) == 3
    assert "no luck" in write_page(store, [toy()], tmp_path).read_text()
    broken[0] = False
    run([toy(measure)], store)
    assert failures(store) == []
    assert len(finished(store)) == 4
    assert len(store.results()) == 5  # what failed stays on record


def test_stores_are_merged_by_concatenating_them(toy, tmp_path):
    one, two, both = (Store(tmp_path / f"{name}.jsonl") for name in ("one", "two", "both"))
    run([toy()], one)
    run([toy()], two, quick=False)
    both.path.write_bytes(one.path.read_bytes() + two.path.read_bytes())
    assert finished(both).keys() == finished(one).keys() | finished(two).keys()
    assert len(finished(both)) == 10
    assert [run["run"] for run in both.runs()] == [one.runs()[0]["run"], two.runs()[0]["run"]]
    found = results_of(both, toy().family).drop(columns="seconds")
    assert found.equals(results_of(two, toy().family).drop(columns="seconds"))


def test_a_trial_that_failed_on_one_machine_counts_where_it_went_well(toy, tmp_path):
    def measure(setting, method, seed):
        raise MemoryError("too small")

    good, bad, both = (Store(tmp_path / f"{name}.jsonl") for name in ("good", "bad", "both"))
    run([toy()], good)
    run([toy(measure)], bad)
    assert len(failures(bad)) == 4
    for order in ((good, bad), (bad, good)):
        both.path.write_bytes(b"".join(store.path.read_bytes() for store in order))
        assert len(finished(both)) == 4
        assert failures(both) == []


def test_half_a_line_is_no_result_and_is_cut(toy, store):
    run([toy()], store)
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:-20])  # a run that was killed while it wrote
    assert len(finished(store)) == 3
    run([toy()], store)
    assert len(finished(store)) == 4
    assert all(json.loads(line) for line in store.path.read_text().splitlines())


def test_a_line_that_is_no_result_is_named(store):
    store.path.write_text('{"run": "a", "machine": {}}\nsomething else\n')
    with pytest.raises(ValueError, match=r"Line 2 of .*trials\.jsonl is not a result"):
        store.results()


def test_a_run_tells_of_the_machine_and_what_was_asked_for(toy, store):
    run([toy()], store, number=1, methods=["mean"])
    [told] = store.runs()
    assert told["names"] == ["toy"]
    assert told["asked"] == {"quick": True, "trials": 1, "methods": ["mean"], "jobs": 1}
    assert told["machine"]["versions"]["numpy"]
    assert {"cpu", "cores", "system", "python", "blas", "commit"} <= told["machine"].keys()
    assert all(result["run"] == told["run"] for result in store.results())
    commit = told["machine"]["commit"]
    assert all(result["commit"] == commit for result in store.results())
    assert all(result["measures"]["seconds"] >= 0 for result in store.results())


def test_without_data_the_page_says_how_to_get_them(toy, store, tmp_path):
    def prepare():
        raise FileNotFoundError("x.mat is not there; set POLYCOMPLETE_DATA.")

    run([toy(prepare=prepare)], store)
    assert store.runs()[0]["lacking"] == {"toy": "x.mat is not there; set POLYCOMPLETE_DATA."}
    page = write_page(store, [toy()], tmp_path).read_text()
    assert "set POLYCOMPLETE_DATA" in page


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", ["lrmc-authors", OURS])
def test_the_same_seed_gives_the_same_trial(method):
    measure = EXPERIMENTS["single-columns"].family.measure
    setting = {"n": 20, "k": 1, "rate": 0.7, "mask": "uniform"}
    first, again, other = (measure(setting, method, seed)["rse"] for seed in (0, 0, 1))
    assert first == again != other


def test_processes_give_what_one_process_gives(tmp_path):
    found = []
    for jobs in (1, 2):
        store = Store(tmp_path / f"{jobs}.jsonl")
        run([EXPERIMENTS["theory"]], store, number=1, jobs=jobs)
        results = results_of(store, EXPERIMENTS["theory"].family)
        found.append(results.drop(columns="seconds"))
    assert found[0].equals(found[1])
    assert len(found[0]) == 12


def test_a_trial_runs_on_one_thread(toy, store):
    from threadpoolctl import threadpool_info

    def measure(setting, method, seed):
        return {"threads": max(info["num_threads"] for info in threadpool_info())}

    run([toy(measure)], store)
    assert set(results_of(store, toy().family)["threads"]) == {1}


def test_first_seeds_come_first_and_the_order_is_fixed():
    trials = [Trial("f", 1, f'{{"n": {n}}}', "m", seed) for seed in (1, 0) for n in range(20)]
    ordered = in_order(trials)
    assert [trial.seed for trial in ordered] == [0] * 20 + [1] * 20
    assert ordered == in_order(trials[::-1])
    assert sorted(ordered) == sorted(trials)


def test_experiments_that_share_a_family_show_their_own_settings(store):
    run([EXPERIMENTS["multi-manifolds"]], store, number=1, methods=["mean"])
    run([EXPERIMENTS["multi-grid"]], store, number=1, methods=["mean"])
    results = results_of(store, EXPERIMENTS["multi-grid"].family)
    curve, grid = (EXPERIMENTS[name] for name in ("multi-manifolds", "multi-grid"))
    assert set(curve.own(results, store.runs())["rate"]) == {0.5}
    assert len(grid.own(results, store.runs())) == 15


@pytest.mark.parametrize("method", [*ROWS, "knn", "mean", "forest"])
def test_rows_make_estimators(method):
    estimator = make(method, 7)
    assert hasattr(estimator, "fit_transform")
    assert estimator.get_params().get("random_state", 7) == 7
    assert label(method)
