"""The documentation: commands exist, blocks are run, links have targets.

Examples after ``>>>`` in README.md and docs/ are collected as doctests.
"""

import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

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


@pytest.mark.parametrize(("page", "line"), of("polycomplete"))
def test_commands_and_their_options_exist(page, line):
    words = [word for word in shlex.split(line.split(">")[0])[1:] if word != "..."]
    if words[0].startswith("--"):
        assert words[0] in ("--help", "--version", "--install-completion")
        return
    # Raises where an option is unknown, a value is of the wrong kind, or an argument too many.
    program_of(words).make_context(words[0], words[1:]).close()


def test_a_command_that_does_not_exist_would_be_noticed():
    for line in ("complete a.csv --nonsense", "complete a.csv --seed x", "check a.csv more things"):
        words = line.split()
        with pytest.raises(Exception, match=r"No such option|valid|unexpected extra"):
            program_of(words).make_context(words[0], words[1:])


def test_an_answer_that_is_shown_is_what_the_program_says(tmp_path):
    shown = next(text for page, text in blocks("console") if "--method mean --json" in text)
    line, _, answer = shown.partition("\n")
    shutil.copy(ROOT / "examples" / "flowers.csv", tmp_path)
    call = "from polycomplete.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", call, *shlex.split(line)[2:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) | {"seconds": 0} == json.loads(answer) | {"seconds": 0}


@pytest.mark.parametrize(("page", "line"), of("make"))
def test_targets_of_make_exist(page, line):
    target = line.split()[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("page", "line"), of("python"))
def test_programs_exist_and_know_their_options(page, line):
    words = shlex.split(line)
    if words[1] == "-m":
        program = ROOT / words[2].replace(".", "/")
        program = program / "__main__.py" if program.is_dir() else program.with_suffix(".py")
    else:
        program = ROOT / words[1]
    source = program.read_text()
    compile(source, str(program), "exec")
    unknown = [word for word in words if word.startswith("--") and f'"{word}"' not in source]
    assert unknown == []


PYTHON = blocks("python")


@pytest.mark.parametrize(
    ("page", "text"), PYTHON, ids=[f"{page}-{i}" for i, (page, _) in enumerate(PYTHON)]
)
def test_python_blocks_are_doctests(page, text):
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


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(FENCE.sub("", PAGES[page])):
        if target.startswith(("http:", "https:")) or "api/" in target:
            continue  # pages of the API are written when the site is built, which checks them
        path = (ROOT / page).parent / target if target else ROOT / page
        assert path.exists(), f"{page}: {target} does not exist"
        if anchor:
            assert anchor in anchors(str(path.resolve().relative_to(ROOT))), f"{page}: #{anchor}"


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


def test_an_example_of_the_gallery_runs(tmp_path):
    # The quickest of them; the others take up to two minutes.
    program, picture = ROOT / "examples" / "outliers.py", tmp_path / "made" / "outliers.png"
    done = subprocess.run(
        [sys.executable, program, "--out", picture], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0] in PAGES["docs/gallery.md"]
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


@pytest.mark.parametrize("place", PLACES)
def test_the_place_that_is_named_exists(place):
    parts = place.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        break
    for name in parts[split:]:
        found = getattr(found, name)
    assert callable(found)


def test_the_experiments_that_are_named_exist():
    declared = tomllib.loads((ROOT / "experiments" / "paper.toml").read_text(encoding="utf-8"))
    assert set(re.findall(r"`python -m experiments ([\w-]+)`", PAPER)) == {*declared} - {"shared"}


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
