"""Draw report.png: the report of an ordinary table, as a desk and a phone show it.

    python docs/report_picture.py

needs Chromium (tests/browser/chromium.sh) and selenium, as `make browser` does.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_breast_cancer

from polycomplete import PMC, masks
from polycomplete.report import Report

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.browser.browser import chromium, look, screenshot  # noqa: E402

#: name: screen, colors, what is shown of it (pixels), how wide it gets
VIEWS = {
    "desktop": ("desktop", "light", (1280, 2280), 900),
    "phone": ("phone", "dark", (780, 3789), 330),
}
SPACE = 30


def report() -> Report:
    """Return the report of a table of 569 rows and 30 columns, three cells in ten missing."""
    table = load_breast_cancer(as_frame=True).data
    holes = table.where(masks.uniform(table.shape, 0.7, random_state=0))
    completer = PMC(random_state=0)
    return completer.report(holes, completer.fit_transform(holes))


def pictures(folder: Path) -> list[Image.Image]:
    """Return the page in both views."""
    report().write(folder / "report.html")
    made = []
    with chromium() as driver:
        for name, (screen, scheme, (width, height), wanted) in VIEWS.items():
            look(driver, screen, scheme)
            driver.get((folder / "report.html").as_uri())
            screenshot(driver, folder / f"{name}.png")
            image = Image.open(folder / f"{name}.png").convert("RGB").crop((0, 0, width, height))
            made.append(image.resize((wanted, round(height * wanted / width)), Image.LANCZOS))
    return made


def main() -> None:
    """Draw it."""
    with tempfile.TemporaryDirectory() as folder:
        parts = pictures(Path(folder))
    height = max(part.height for part in parts)
    width = sum(part.width for part in parts) + SPACE
    sheet = Image.new("RGB", (width, height), "white")
    at = 0
    for part in parts:
        sheet.paste(part, (at, 0))
        at += part.width + SPACE
    sheet.quantize(160, dither=Image.Dither.NONE).save(HERE / "report.png", optimize=True)


if __name__ == "__main__":
    main()
