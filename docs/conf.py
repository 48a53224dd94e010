"""How the site is built: `make docs`, into out/docs. It is read without any network request."""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from polycomplete import __version__

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import api_pages  # noqa: E402

project = "polycomplete"
author = "The polycomplete developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["results/tables"]

# Pages are Markdown as GitHub shows it, so that they can be read there as well.
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Docstrings follow numpydoc and state the types, so that signatures stay short.
autosummary_generate = False
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_use_param = False
napoleon_custom_sections = [("Attributes", "params_style")]
maximum_signature_line_length = 70
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"polycomplete {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

# Prompts and output are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def skip_foreign(
    app: Sphinx, what: str, name: str, thing: object, skip: bool, options: object
) -> bool | None:
    """Leave out what a class inherits from other libraries."""
    owner = inspect.unwrap(getattr(thing, "fget", None) or thing)  # type: ignore[arg-type]
    home = getattr(owner, "__module__", None)
    return True if home and not home.startswith("polycomplete") else None


def escape_bars(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Keep |x| in docstrings a length: reStructuredText would take it for a substitution."""
    for at, line in enumerate(lines):
        parts = line.split("``")
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        if ">>>" not in line:
            lines[at] = "``".join(parts)


def name_footnotes(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Make the numbers of references unique: each docstring of a page begins with [1]."""
    label = rf"[#{name.rpartition('.')[2]}-\1]"
    for at, line in enumerate(lines):
        line = re.sub(r"\[(\d+)\](?=_)", label, line)
        lines[at] = re.sub(r"(?<=^\.\. )\[(\d+)\]", label, line)


def trim_blocks(app: Sphinx, page: str, source: list[str]) -> None:
    """Drop the empty line that doctest needs at the end of a block."""
    source[0] = re.sub(r"\n\n```\n", "\n```\n", source[0])


def copy_results(app: Sphinx, error: Exception | None) -> None:
    """Put the page of the paper's figures, which is HTML already, beside its description."""
    if error is None:
        shutil.copy(HERE / "results" / "index.html", Path(app.outdir) / "results" / "index.html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Prepare the build, before anything is read."""
    api_pages.write(HERE / "api")
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-docstring", name_footnotes, priority=100)
    app.connect("autodoc-process-docstring", escape_bars, priority=900)
    app.connect("source-read", trim_blocks)
    app.connect("build-finished", copy_results)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
