"""The files of the UCI repository: an Excel sheet, comma-separated and space-separated tables."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycomplete.datasets.formats._damage import readable
from polycomplete.datasets.home import Arrays

__all__: list[str] = []

MICE = ["c-CS-m", "c-SC-m", "c-CS-s", "c-SC-s", "t-CS-m", "t-SC-m", "t-CS-s", "t-SC-s"]
SKIN = ["psoriasis", "seboreic dermatitis", "lichen planus", "pityriasis rosea",
        "cronic dermatitis", "pityriasis rubra pilaris"]  # fmt: skip
_NAMES = (
    "erythema scaling definite_borders itching koebner_phenomenon polygonal_papules "
    "follicular_papules oral_mucosal_involvement knee_and_elbow_involvement scalp_involvement "
    "family_history melanin_incontinence eosinophils_in_the_infiltrate PNL_infiltrate "
    "fibrosis_of_the_papillary_dermis exocytosis acanthosis hyperkeratosis parakeratosis "
    "clubbing_of_the_rete_ridges elongation_of_the_rete_ridges "
    "thinning_of_the_suprapapillary_epidermis spongiform_pustule munro_microabcess "
    "focal_hypergranulosis disappearance_of_the_granular_layer "
    "vacuolisation_and_damage_of_basal_layer spongiosis saw_tooth_appearance_of_retes "
    "follicular_horn_plug perifollicular_parakeratosis inflammatory_monoluclear_inflitrate "
    "band_like_infiltrate age"
)
FINDINGS = _NAMES.split()
STATES = ["Rad Flow", "Fpv Close", "Fpv Open", "High", "Bypass", "Bpv Close", "Bpv Open"]


def read_mice(path: Path) -> Arrays:
    """Return proteins, class codes from 1 and mice of the Excel sheet."""
    with readable(path, "Excel sheet"):
        sheet = _library("xlrd", path).open_workbook(path).sheet_by_index(0)
        rows = [sheet.row_values(i) for i in range(sheet.nrows)]
        X = np.array([[np.nan if v == "" else float(v) for v in row[1:-4]] for row in rows[1:]])
        y = np.array([MICE.index(row[-1]) + 1 for row in rows[1:]])
    return {"X": X, "y": y, "mouse_id": np.array([row[0] for row in rows[1:]]),
            "feature_names": np.array(rows[0][1:-4]), "class_names": np.array(MICE)}  # fmt: skip


def read_dermatology(path: Path) -> Arrays:
    """Return findings and class codes; a line of names, which mirrors add, is skipped."""
    with readable(path, "comma-separated table"):
        lines = path.read_text(encoding="ascii").splitlines()
        cells = [line.split(",") for line in lines if line[:1].isdigit()]
        table = np.array([[np.nan if v == "?" else float(v) for v in row] for row in cells])
        X, y = table[:, :-1], table[:, -1].astype(np.int64)
    names = FINDINGS if X.shape[1] == len(FINDINGS) else [f"{j}" for j in range(X.shape[1])]
    return {"X": X, "y": y, "feature_names": np.array(names), "class_names": np.array(SKIN)}


def read_shuttle(train: Path, test: Path) -> Arrays:
    """Return readings, state codes and which rows are the customary test set."""
    with readable(train, "compressed table"):
        text = _library("unlzw3", train).unlzw(train.read_bytes()).decode("ascii")
    return {**_split(train, text, test), "class_names": np.array(STATES)}


def read_satimage(train: Path, test: Path) -> Arrays:
    """Return pixels, soil codes and which rows are the customary test set."""
    with readable(train, "table of numbers"):
        text = train.read_text(encoding="ascii")
    return _split(train, text, test)


def _split(train: Path, text: str, test: Path) -> Arrays:
    first = _numbers(train, text)
    with readable(test, "table of numbers"):
        last = _numbers(test, test.read_text(encoding="ascii"))
    if first.shape[1] != last.shape[1]:
        raise ValueError(f"{test} has {last.shape[1]} columns, but {train} {first.shape[1]}.")
    table = np.vstack([first, last])
    is_test = np.repeat([False, True], [len(first), len(last)])
    return {"X": table[:, :-1], "y": table[:, -1], "is_test": is_test}


def _numbers(path: Path, text: str) -> NDArray[np.int64]:
    with readable(path, "table of numbers"):
        return np.loadtxt(text.splitlines(), dtype=np.int64, ndmin=2)


def _library(name: str, path: Path) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"Reading {path.name} needs {name}: pip install 'polycomplete[data]'."
        ) from error
