"""Saving and loading: the same bits in another process, and clear refusals."""

import inspect
import io
import json
import os
import subprocess
import sys
import warnings
import zipfile
from itertools import product

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import ExtraTreesRegressor

import polycomplete
from polycomplete import (
    PMC,
    Completer,
    Landmark,
    SubspaceClusterer,
    TableCompleter,
    methods,
    persistence,
)
from polycomplete.persistence import ModelFileError, load, save
from tests.conftest import COMPLETERS, QUICK, fitted_to_the_problem

#: Further models that are fitted beside the completers.
MODELS = {
    "landmark": PMC(**QUICK | {"solver": Landmark()}),
    "mean": methods.get("mean"),
    "knn": methods.get("knn"),
    "iterative": methods.get("iterative", max_iter=2, tol=10, random_state=0),
}
#: A program that completes the same rows by every model of a folder.
ELSEWHERE = """
import sys
import numpy as np
import polycomplete
folder = sys.argv[1]
rows = np.load(f"{folder}/rows.npy")
for name in sys.argv[2:]:
    np.save(f"{folder}/{name}.npy", polycomplete.load(f"{folder}/{name}.skops").transform(rows))
"""


@pytest.fixture(scope="module")
def line():
    """Give a fitted LRMC."""
    return methods.get("lrmc").fit([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])


@pytest.fixture
def saved(line, tmp_path):
    """Give the path of a model file."""
    save(line, tmp_path / "line.skops")
    return tmp_path / "line.skops"


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path, parts, compression=zipfile.ZIP_STORED):
    """Write an archive of these members; return its path."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def rewritten(path, name, content):
    """Write an archive anew, with one member replaced; return its path."""
    return packed(path, members(path) | {name: content})


def relabelled(path, **changes):
    label = json.loads(members(path)["polycomplete.json"])
    return rewritten(path, "polycomplete.json", json.dumps(label | changes))


def retyped(path, module, name):
    """Make a file claim that its estimator is something else."""
    schema = json.loads(members(path)["schema.json"])
    schema |= {"__module__": module, "__class__": name}
    return rewritten(path, "schema.json", json.dumps(schema))


def test_another_process_gives_the_same_bits(problem, tmp_path):
    np.save(tmp_path / "rows.npy", problem.X[:7])
    fitted = {name: clone(model).fit(problem.X) for name, model in MODELS.items()}
    fitted |= {name: fitted_to_the_problem(name)[0] for name in COMPLETERS}
    for name, model in fitted.items():
        save(model, tmp_path / f"{name}.skops")
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path), *fitted]
    subprocess.run(command, check=True, capture_output=True)
    for name, model in fitted.items():
        there = np.load(tmp_path / f"{name}.npy")
        assert there.tobytes() == model.transform(problem.X[:7]).tobytes(), name


def test_completers_save_themselves(problem, tmp_path):
    completer = methods.get("lrmc").fit(problem.X)
    completer.save(tmp_path / "a.skops")
    again = polycomplete.load(tmp_path / "a.skops")
    assert type(again) is type(completer)
    assert again.result_.objective == completer.result_.objective
    np.testing.assert_array_equal(again.row_determined_, completer.row_determined_)


def test_a_clusterer_comes_back_with_its_labels(problem, tmp_path):
    found = SubspaceClusterer(2, completer=methods.get("lrmc"), random_state=0).fit(problem.X)
    save(found, tmp_path / "a.skops")
    np.testing.assert_array_equal(load(tmp_path / "a.skops").labels_, found.labels_)


def test_an_unfitted_estimator_keeps_its_parameters(tmp_path):
    save(Completer(kernel=polycomplete.Polynomial(2, 1.0), noise=0.5), tmp_path / "a.skops")
    assert repr(load(tmp_path / "a.skops")) == repr(
        Completer(kernel=polycomplete.Polynomial(2, 1.0), noise=0.5)
    )


ESTIMATORS = [
    name
    for name in polycomplete.__all__
    if inspect.isclass(thing := getattr(polycomplete, name))
    and issubclass(thing, BaseEstimator)
    and not any(p.default is p.empty for p in inspect.signature(thing).parameters.values())
]


def test_everything_with_parameters_can_be_saved(tmp_path):
    for estimator in (getattr(polycomplete, name)() for name in ESTIMATORS):
        save(estimator, tmp_path / "a.skops")
        assert repr(load(tmp_path / "a.skops")) == repr(estimator)


def test_a_table_completer_gives_the_same_cells(tmp_path):
    table = pl.DataFrame({
        "size": [1.0, None, 3.0, 3.5] * 5,
        "kind": ["a", "a", "b", None] * 5,
        "day": pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 20), eager=True),
    })  # fmt: skip
    fitted = TableCompleter(methods.get("lrmc"), random_state=0).fit(table)
    fitted.save(tmp_path / "a.skops")
    assert load(tmp_path / "a.skops").transform(table).equals(fitted.transform(table))


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    solver = polycomplete.Exact(callback=print)
    with pytest.raises(ModelFileError, match=r"PMC holds .*print.*not safe to load"):
        save(PMC(solver=solver), tmp_path / "a.skops")
    with pytest.raises(ModelFileError, match="remove functions"):
        save(PMC(solver=(i for i in "abc")), tmp_path / "a.skops")
    assert list(tmp_path.iterdir()) == []


def test_trees_are_not_saved(problem, tmp_path):
    # Their nodes are read without checks: a changed file could reach outside of its memory.
    trees = ExtraTreesRegressor(n_estimators=2, random_state=0)
    forest = methods.get("forest", estimator=trees, max_iter=1, tol=100).fit(problem.X)
    with pytest.raises(ModelFileError, match=r"Tree, which is not safe .* choose another method"):
        save(forest, tmp_path / "a.skops")


def test_a_missing_file_is_called_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.skops"):
        load(tmp_path / "none.skops")


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "a.skops"
    path.write_text("id,age\n1,2\n")
    with pytest.raises(ModelFileError, match=r"a\.skops is not a model file"):
        load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(ModelFileError, match="not a model of polycomplete"):
        load(path)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_files_cut_short_are_refused(saved, share):
    data = saved.read_bytes()
    saved.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ModelFileError, match="damaged or cut short"):
        load(saved)


def test_files_with_a_wrong_byte_are_refused(saved):
    with zipfile.ZipFile(saved) as archive:
        member = max(archive.infolist(), key=lambda one: one.file_size)
    data = bytearray(saved.read_bytes())
    data[member.header_offset + len(member.filename) + 30 + member.compress_size // 2] ^= 0xFF
    saved.write_bytes(data)
    with pytest.raises(ModelFileError, match="damaged"):
        load(saved)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": persistence.FORMAT + 1}, "in format 3, .*; update polycomplete"),
        (
            {"format": persistence.FORMAT - 1},
            "in format 1, .*; make the model again",
        ),
        ({"format": "two"}, "not a model of polycomplete"),
    ],
)
def test_other_formats_are_refused(saved, changes, says):
    with pytest.raises(ModelFileError, match=says):
        load(relabelled(saved, **changes))


def test_models_of_other_versions_are_loaded_with_a_warning(saved):
    versions = json.loads(members(saved)["polycomplete.json"])["versions"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(saved)
        near = ".".join([*np.__version__.split(".")[:2], "999"])
        load(relabelled(saved, versions=versions | {"numpy": near}))
    relabelled(saved, versions=versions | {"numpy": "1.2.3", "scikit-learn": "0.9"})
    says = rf"saved with numpy 1\.2\.3, scikit-learn 0\.9, and this is numpy {np.__version__}, "
    with pytest.warns(UserWarning, match=f"{says}.* refit the model, or install") as found:
        load(saved)
    assert [one.filename for one in found] == [__file__]
    with pytest.warns(UserWarning, match=r"saved with polycomplete 999\.0, and this is"):
        load(relabelled(saved, versions=versions | {"polycomplete": "999.0"}))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("polycomplete.kernels", "cdist"),  # ours by its address, not by its origin
        ("polycomplete.io.atomic", "Path"),
        ("polycomplete.nowhere", "LRMC"),
        ("polycomplete.methods.nowhere", "LRMC"),
        ("polycomplete", "LRMC"),
    ],
)
def test_types_that_are_not_on_the_list_are_refused(saved, module, name):
    with pytest.raises(ModelFileError, match=f"holds {module}.{name}, which polycomplete does not"):
        load(retyped(saved, module, name))


def test_a_file_that_does_not_fit_is_called_so(saved):
    rewritten(saved, "schema.json", "{}")
    with pytest.raises(ModelFileError, match=r"line\.skops is damaged, or does not fit"):
        load(saved)


def test_saving_replaces_a_file_whole_or_not_at_all(saved, line, monkeypatch):
    before = saved.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(line, saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["line.skops"]


def test_without_skops_it_is_said_what_to_install(line, saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"needs skops; install it by .*polycomplete\[models\]"):
        save(line, saved)
    with pytest.raises(ImportError, match="needs skops"):
        load(saved)


def as_npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_a_file_that_swells_is_not_read(saved):
    parts = members(saved)
    array = next(name for name in parts if name.endswith(".npy"))
    packed(saved, parts | {array: as_npy(np.zeros(10**7))}, zipfile.ZIP_DEFLATED)
    assert saved.stat().st_size < 10**6
    with pytest.raises(ModelFileError, match="damaged"):
        load(saved)


def test_an_array_that_claims_another_size_is_not_read(saved):
    parts = members(saved)
    array = next(name for name in parts if name.endswith(".npy"))
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, header)
    parts[array] = file.getvalue() + bytes(80)
    with pytest.raises(ModelFileError, match="is damaged, or does not fit"):
        load(packed(saved, parts))


def test_an_endless_file_is_not_read(tmp_path):
    (tmp_path / "a.skops").touch()
    os.truncate(tmp_path / "a.skops", 2**40)
    with pytest.raises(ModelFileError, match="is not a model file"):
        load(tmp_path / "a.skops")


def test_any_wrong_byte_is_refused_or_harmless(saved, line):
    data = saved.read_bytes()
    with zipfile.ZipFile(saved) as archive:
        label = archive.getinfo("polycomplete.json").header_offset
    places = [*range(label, label + 60), *range(len(data) - 120, len(data))]
    places += np.random.default_rng(0).choice(len(data), 120, replace=False).tolist()
    refused = 0
    for place, change in product(places, (0xFF, 0x01)):
        damaged = bytearray(data)
        damaged[place] ^= change
        saved.write_bytes(damaged)
        try:
            again = load(saved)
        except ModelFileError as error:
            assert str(saved) in str(error)  # noqa: PT017  (some damage does no harm)
            refused += 1
        else:
            assert again.transform([[5.0, None]]).tobytes() == line.transform([[5, None]]).tobytes()
    assert refused > 300


PARTS = {
    "lrmc": lambda: methods.get("lrmc").fit([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]),
    "table": lambda: TableCompleter(methods.get("lrmc")).fit(
        pl.DataFrame({"a": [1.0, 2.0, None, 4.0], "b": ["x", None, "y", "x"]})
    ),
    "classifier": lambda: polycomplete.TransductiveClassifier(
        methods.get("lrmc"), label_weight=1.0, random_state=0
    ).fit(np.arange(24.0).reshape(12, 2) ** 2, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, None]),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_that_do_not_fit_together_are_noticed_on_loading(name, tmp_path):
    save(PARTS[name](), tmp_path / "a.skops")
    parts = members(tmp_path / "a.skops")
    load(packed(tmp_path / "a.skops", parts))
    long = {
        name: as_npy(np.r_[array, array])
        for name, data in parts.items()
        if name.endswith(".npy") and (array := np.load(io.BytesIO(data))).ndim
    }
    with pytest.raises(ModelFileError, match=r"a\.skops is damaged, or does not fit"):
        load(packed(tmp_path / "a.skops", parts | long))
    schema = json.loads(parts["schema.json"])
    schema["content"]["content"]["n_features_in_"]["content"] = str(10**9)
    with pytest.raises(ModelFileError, match="it has 1000000000 columns"):
        load(packed(tmp_path / "a.skops", parts | {"schema.json": json.dumps(schema)}))
