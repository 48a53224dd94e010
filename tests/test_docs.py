"""The documentation: commands exist, blocks are run, links have targets.

Examples after ``>>>`` in README.md and docs/ are collected as doctests.
"""

import importlib
import json
import pkgutil
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from polycomplete.cli import app as program

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
}
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Pages with blocks that need a cluster: these are only compiled, and are those of examples/.
CLUSTER = {"docs/more-rows-than-memory.md"}


def blocks(language):
    return [(page, text) for page, whole in PAGES.items() for kind, text in FENCE.findall(whole)
            if kind == language]  # fmt: skip


def command_lines():
    """Return the command lines that pages show, each with its page."""
    for page, text in blocks("console"):
        lines = text.replace("\\\n", " ").splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        for line in prompted or lines:
            for part in re.split(r"[|;]", line.split(" # ")[0]):
                yield page, part.strip(" ()")


LINES = sorted(set(command_lines()))


def of(name):
    return [line for line in LINES if line[1].startswith(f"{name} ")]


def program_of(words):
    """Return the command that a line calls."""
    known = typer.main.get_command(program.app).commands
    assert words[0] in known, f"there is no command {words[0]}"
    return known[words[0]]


def test_commands_and_their_options_exist():
    for page, line in of("polycomplete"):
        words = [word for word in shlex.split(line.split(">")[0])[1:] if word != "..."]
        if words[0].startswith("--"):
            assert words[0] in ("--help", "--version", "--install-completion"), (page, line)
            continue
        try:  # an unknown option, a value of the wrong kind, an argument too many
            program_of(words).make_context(words[0], words[1:]).close()
        except Exception as error:
            pytest.fail(f"{page}: {line}: {error}")


def test_a_command_that_does_not_exist_would_be_noticed():
    for line in ("complete a.csv --nonsense", "complete a.csv --seed x", "check a.csv more things"):
        words = line.split()
        with pytest.raises(Exception, match=r"No such option|valid|unexpected extra"):
            program_of(words).make_context(words[0], words[1:])


def test_an_answer_that_is_shown_is_what_the_program_says(tmp_path, monkeypatch):
    shown = next(text for page, text in blocks("console") if "--method mean --json" in text)
    line, _, answer = shown.partition("\n")
    shutil.copy(ROOT / "examples" / "flowers.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(program.app, shlex.split(line)[2:])
    assert json.loads(done.stdout) | {"seconds": 0} == json.loads(answer) | {"seconds": 0}


def test_targets_of_make_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {line.split()[1] for _, line in of("make")} <= targets


def test_programs_exist_and_know_their_options():
    for page, line in of("python"):
        words = shlex.split(line)
        if words[1] == "-m":
            file = ROOT / words[2].replace(".", "/")
            file = file / "__main__.py" if file.is_dir() else file.with_suffix(".py")
        else:
            file = ROOT / words[1]
        source = file.read_text()
        compile(source, str(file), "exec")
        unknown = [word for word in words if word.startswith("--") and f'"{word}"' not in source]
        assert unknown == [], (page, line)


def test_python_blocks_are_doctests():
    for page, text in blocks("python"):
        if ">>> " in text:
            # Without an empty line a doctest would take the end of the block for output.
            assert text.endswith("\n\n"), f"{page}: an empty line before the end of\n{text}"
        else:
            assert page in CLUSTER, f"{page}: not run by any test:\n{text}"
            compile(text, page, "exec")


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub and the site make them."""
    plain = FENCE.sub("", PAGES[page])
    heads = re.findall(r"^#+ (.+)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")


def test_links_lead_somewhere():
    lost = []
    for page, text in PAGES.items():
        for target, anchor in LINK.findall(FENCE.sub("", text)):
            if target.startswith(("http:", "https:")) or "api/" in target:
                continue  # pages of the API are written when the site is built, which checks them
            path = (ROOT / page).parent / target if target else ROOT / page
            there = path.exists() and (
                not anchor or anchor in anchors(str(path.resolve().relative_to(ROOT)))
            )
            lost += [] if there else [f"{page}: {target}#{anchor}"]
    assert lost == []


@pytest.mark.parametrize("page", sorted(PAGES.keys() - {"CHANGELOG.md"}))
def test_files_that_are_named_exist(page):
    named = set(re.findall(r"`([\w./-]+/[\w-]+\.(?:py|md|toml|txt|csv))`", PAGES[page]))
    roots = (ROOT, ROOT / "src", ROOT / "src" / "polycomplete")
    assert {path for path in named if not any((root / path).exists() for root in roots)} == set()


def test_every_public_name_has_its_place_in_the_reference(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    api_pages = importlib.import_module("api_pages")
    monkeypatch.delitem(sys.modules, "api_pages")
    api_pages.write(tmp_path)
    assert ".. autoclass:: polycomplete.PMC\n" in (tmp_path / "completers.rst").read_text()
    monkeypatch.setitem(api_pages.PARTS, "masks", ("Masks", "", ["metrics"]))
    monkeypatch.delitem(api_pages.PARTS, "kernels")
    with pytest.raises(ValueError, match=r"no page for polycomplete\.Linear"):
        api_pages.write(tmp_path)


def test_examples_of_the_gallery_have_their_pictures():
    gallery = PAGES["docs/gallery.md"]
    for picture in (DOCS / "gallery").iterdir():
        assert f"gallery/{picture.name}" in gallery
        assert f"examples/{picture.stem}.py" in gallery
        assert (ROOT / "examples" / f"{picture.stem}.py").exists()


def test_an_example_of_the_gallery_runs(tmp_path, monkeypatch, capsys):
    # The quickest of them; the others take up to two minutes.
    picture = tmp_path / "made" / "outliers.png"
    monkeypatch.setattr(sys, "argv", ["outliers.py", "--out", str(picture)])
    runpy.run_path(str(ROOT / "examples" / "outliers.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines()[0] in PAGES["docs/gallery.md"]
    assert picture.stat().st_size > 5000


PAPER = PAGES["docs/from-paper-to-code.md"]
PLACES = sorted(set(re.findall(r"`(polycomplete\.[\w.]+)`", PAPER)))
#: How many of each the paper numbers.
NUMBERED = {"Theorem": 2, "Lemma": 4, "Corollary": 2, "Assumption": 3, "Definition": 1, "Remark": 3,
            "Example": 3, "Algorithm": 1, "Figure": 6, "Table": 1}  # fmt: skip


def test_every_number_of_the_paper_has_its_line():
    lines = [line.split("|")[1] for line in PAPER.splitlines() if line.startswith("|")]
    heads = "\n".join(lines)
    for kind, count in NUMBERED.items():
        found = {int(number) for number in re.findall(rf"{kind} (\d+)", heads)}
        assert found == set(range(1, count + 1)), kind
    listed = re.findall(r"eq\. (\(\d+\)(?:, \(\d+\))*)", heads)
    assert {int(number) for each in listed for number in re.findall(r"\d+", each)} == {
        *range(1, 21)
    }


def test_the_places_that_are_named_exist():
    assert len(PLACES) > 30
    assert [place for place in PLACES if not callable(pkgutil.resolve_name(place))] == []


def test_the_experiments_that_are_named_exist():
    declared = tomllib.loads((ROOT / "experiments" / "paper.toml").read_text(encoding="utf-8"))
    assert set(re.findall(r"`python -m experiments ([\w-]+)`", PAPER)) == {*declared} - {
        *("about", "shared")
    }


#: Rows of the map in CONTRIBUTING.md.
CHANGES = {"a kernel", "a penalty or weight rule", "a named method", "a kind of column",
           "a file format", "a benchmark"}  # fmt: skip
HAPPENS = {"the smoothing is chosen", "a stuck row is restarted", "new rows are completed",
           "a column becomes numbers", "a file is written", "a deviation is computed"}  # fmt: skip


def test_the_map_names_paths_that_exist():
    text = PAGES["CONTRIBUTING.md"]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    paths = {row[0]: [re.findall(r"`([^`]+)`", cell) for cell in row[1:]] for row in rows}
    assert paths.keys() >= CHANGES | HAPPENS
    assert all(1 <= len(paths[change][0]) <= 2 for change in CHANGES)
    assert all(len(paths[what][0]) == 1 for what in HAPPENS)
    named = set(re.findall(r"`([\w./-]+(?:/|\.py|\.md))`", text)) | {"Makefile"}
    assert len(named) > 30
    assert [path for path in named
            if not any((root / path).exists() for root in (ROOT, ROOT / "src" / "polycomplete"))
            ] == []  # fmt: skip
