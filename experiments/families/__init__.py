"""The kinds of trials: each a dataset and a measure, for any method."""

__all__: list[str] = []
