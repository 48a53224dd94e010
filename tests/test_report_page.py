"""The page: nothing from the data becomes markup, nothing is loaded, it can be read by everyone.

The same page in a real browser: tests/browser (make browser).
"""

import base64
import hashlib
import re
import sys
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest
from sklearn.impute import SimpleImputer

from polycomplete import LRMC, report
from polycomplete.report import COLUMNS, Report, missing_map, steps
from polycomplete.report.findings import clean, number, percent
from tests import hostile

CSS = (files("polycomplete.report") / "template" / "page.css").read_text("utf-8")
VOID = {"meta", "link", "br", "input"}
OWN = VOID | {
    "html", "head", "title", "style", "body", "a", "header", "div", "p", "h1", "nav", "ul", "li",
    "main", "dl", "dt", "dd", "span", "section", "h2", "h3", "figure", "svg", "rect", "path",
    "line", "text", "figcaption", "bdi", "label", "table", "thead", "tr", "th", "tbody", "small",
    "td", "button", "strong", "pre", "code", "details", "summary", "footer", "script",
}  # fmt: skip


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.open = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]


@pytest.fixture(scope="module")
def evil():
    X, completer = hostile.numbers(), LRMC()
    return completer.report(X, completer.fit_transform(X))


@pytest.fixture(scope="module")
def html(evil):
    return evil.html()


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_names_do_not_become_markup(page):
    assert {tag for tag, _ in page.elements} <= OWN
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert not [key for _, attributes in page.elements for key in attributes if key[:2] == "on"]
    text = "".join(page.text)
    assert "<script>alert(1)</script>" in text
    assert "{{ 7 * 7 }}{% raw %}" in text


def test_labels_and_settings_do_not_become_markup():
    before, after = hostile.labels()
    imputer = SimpleImputer(strategy="constant", fill_value="<script>alert(5)</script>")
    made = Page(Report(imputer, before, after, command="</code><b>$(rm)").html())
    assert len(made.all("script")) == 1
    assert made.all("img") == made.all("b") == []
    assert "</code><b>$(rm)" in "".join(made.text)


def test_the_page_loads_nothing(page, html):
    loading = ("src", "srcset", "href", "xlink:href", "action", "data", "poster")
    found = {
        attributes[key] for _, attributes in page.elements for key in loading if key in attributes
    }
    assert all(address.startswith("#") or address == "data:," for address in found)
    assert "http" not in re.sub(r'http-equiv="Content-Security-Policy"', "", html)
    assert "url(" not in html
    assert "@import" not in html


def test_only_its_own_script_and_style_may_run(page, html):
    policy = next(m["content"] for m in page.all("meta") if "http-equiv" in m)
    assert policy.startswith("default-src 'none';")
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        content = re.search(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not [1 for _, attributes in page.elements if "style" in attributes]


def test_long_names_are_cut_and_turned_ones_unturned(evil, html):
    assert len(html) < 1_000_000
    assert "x" * 200 not in html
    assert "\u202e" not in html
    html.encode("utf-8")  # no half of a pair is left
    for rendering in (evil.text(), evil.json()):
        rendering.encode("utf-8")
        assert "\x1b" not in rendering
        assert "x" * 200 not in rendering


def test_names_may_run_from_right_to_left(html):
    assert "<bdi>عمود من اليمين إلى اليسار</bdi>" in html


def test_the_page_is_well_formed(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    linked = {a["href"][1:] for a in page.all("a")}
    named = {a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a}
    assert linked | named <= set(ids)
    assert len(page.all("main")) == len(page.all("header")) == len(page.all("h1")) == 1
    assert page.all("html")[0]["lang"] == "en"
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_drawing_says_what_it_shows_or_is_decoration(page):
    for drawing in page.all("svg"):
        assert "aria-hidden" in drawing or (drawing["role"] == "img" and drawing["aria-label"])


def test_many_columns_are_listed_up_to_a_limit():
    X = np.random.default_rng(0).standard_normal((4, COLUMNS + 5))
    imputer = SimpleImputer()
    made = Report(imputer, X, X).html()
    assert made.count("data-name=") == COLUMNS
    assert f"of {COLUMNS + 5:,} columns; the JSON report has all" in made


def colors(block):
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6})", block))


def luminance(color):
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


#: Colors in front of others, and how much they must differ at least.
CONTRASTS = [
    ("ink", "paper", 7), ("ink", "card", 7), ("soft", "card", 4.5), ("soft", "paper", 4.5),
    ("soft", "stripe", 4.5), ("accent", "card", 4.5), ("good", "card", 4.5),
    ("warning", "card", 4.5), ("hero-ink", "hero", 7), ("hero-soft", "hero", 4.5),
    ("new", "card", 3), ("seen", "card", 3),
]  # fmt: skip


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_contrast(scheme):
    block = colors(re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)[scheme])
    for front, back, least in CONTRASTS:
        dark, bright = sorted([luminance(block[front]), luminance(block[back])])
        assert (bright + 0.05) / (dark + 0.05) >= least, (front, back)


def test_notebooks_show_the_page_in_a_frame_of_its_own(evil):
    (frame,) = Page(evil._repr_html_()).all("iframe")
    assert frame["sandbox"] == "allow-scripts"
    assert frame["srcdoc"] == evil.html()


def test_without_jinja_the_error_says_what_to_install(evil, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr(report, "_template", report._template.__wrapped__)  # as if never made
    assert evil.text()
    assert evil.json()
    with pytest.raises(ImportError, match=r"needs jinja2; install it by .*polycomplete\[report\]"):
        evil.html()


def test_maps_cover_what_is_missing():
    tiles = [[0.0, 1.0, 0.5], [0.01, 0.0, 1.0]]
    drawn = missing_map(tiles)
    assert [bool(path) for path in drawn["shades"]] == [True, False, True, False, True]
    assert drawn["columns"] == pytest.approx([0.005, 0.5, 0.75])
    assert drawn["rows"] == pytest.approx([0.5, 1.01 / 3])


def test_histograms_are_as_high_as_their_fullest_bin():
    assert steps([1, 2]) == "M0 10V5H1V0H2V10"
    assert steps([0, 0]) == ""


def test_shares_are_never_rounded_to_all_or_nothing():
    shares = {0.5: "50.0%", 3e-7: "<0.1%", 0.99999: ">99.9%", 1.0: "100.0%", 0.1234: "12.3%",
              0.0: "0.0%", None: "–"}  # fmt: skip
    assert {share: percent(share) for share in shares} == shares


def test_numbers_have_a_few_digits():
    shown = {1234567: "1,234,567", 0.012345: "0.0123", 4.0: "4", 1e-9: "1e-09", None: "–",
             12345.6: "12,346", 389.5: "390", -2.5: "-2.5"}  # fmt: skip
    assert {value: number(value) for value in shown} == shown


def test_clean_names_are_short_lines():
    for name in hostile.NAMES:
        made = clean(name)
        assert len(made) <= 120
        assert made.isprintable() or "\N{FAMILY}" in made
        made.encode("utf-8")
