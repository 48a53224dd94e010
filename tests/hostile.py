"""A table that means harm: names and cells that are markup, endless, or written from the right."""

import numpy as np
import pandas as pd

NAMES = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{ 7 * 7 }}{% raw %}",
    "</title></style></script><svg onload=alert(3)>",
    "javascript:alert(4)",
    "\N{GRINNING FACE}\N{FAMILY} emoji",
    "عمود من اليمين إلى اليسار",
    "\u202eturned",
    "x" * 100_000,
    "two\nlines\x00\x1b[31m",
    "half a pair \ud800",
]


def numbers(columns=500, rows=40):
    """A table of numbers with hostile column names."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 2)) @ rng.standard_normal((2, columns))
    X[rng.random(X.shape) < 0.3] = np.nan
    names = NAMES + [f"column {i}" for i in range(columns - len(NAMES))]
    return pd.DataFrame(X, columns=pd.Index(names, dtype=object))


def labels():
    """Tables of hostile cells, before and after."""
    after = pd.DataFrame(dict.fromkeys(("text", *NAMES[:2]), NAMES), dtype=object)
    before = after.copy()
    before.iloc[::2, 0] = None
    return before, after
