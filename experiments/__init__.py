"""The paper's experiments: every figure and table of it, computed anew, on one page."""
