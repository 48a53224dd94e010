"""More rows than are learned from, and more than fit into memory: blocks of rows.

The surface is learned from a sample, which blocks choose together in one pass; then every row, that
of the sample too, is completed by itself. So the answer for a row is the same to the last bit
whether it came in an array, in a block of any size, or from another machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from polycomplete._messages import showing
from polycomplete.base import BaseCompleter
from polycomplete.gathering import Gathered, in_blocks, naming
from polycomplete.keeping import all_or_nothing
from polycomplete.rows import Completion
from polycomplete.sampling import training_rows


class BlockCompleter(BaseCompleter):
    """A completer that learns from some of the rows where there are many, and so takes blocks.

    A subclass says in ``_most_rows`` how many; its model takes ``columns`` and ``into``, as
    :class:`polycomplete.model.SurfaceModel` does.

    Examples
    --------
    >>> from polycomplete import PMC
    >>> isinstance(PMC(), BlockCompleter)
    True
    """

    @all_or_nothing
    def fit_blocks(self, blocks: Any) -> Self:
        """Learn the surface from rows that come in blocks, in one pass and bounded memory.

        What is learned is what :meth:`fit` learns from all rows at once, to the last bit.
        ``row_determined_`` and ``cell_std_``, which have a number for each row, are not kept.

        Parameters
        ----------
        blocks : list, generator function, or other iterable of arrays or data frames
            Blocks of rows with the same columns; a two-dimensional array, such as a memory map, is
            cut into blocks. It must be possible to go through them again, to complete them: of a
            generator, pass the function that makes it.

        Returns
        -------
        self
        """
        most, seed, first, gathered = self._sample_size(), self._seed(), 0, None
        for number, block in enumerate(in_blocks(blocks)):
            with naming(f"Block {number}"):
                matrix, mask = self._validate(block, reset=number == 0, fewest=0)
            found = Gathered.of(matrix, mask, first, most, seed)
            gathered = found if gathered is None else gathered + found
            first += len(matrix)
        if gathered is None:
            raise ValueError("There are no blocks of rows to learn from.")
        self._fit_gathered(gathered)
        return self

    def transform_blocks(self, blocks: Any) -> Iterator[Any]:
        """Complete blocks of rows, each when it is asked for.

        Parameters
        ----------
        blocks : iterable of arrays or data frames
            As for :meth:`fit_blocks`.

        Yields
        ------
        ndarray or data frame
            The completed block, of the same kind.
        """
        for number, block in enumerate(in_blocks(blocks, again=False)):
            with naming(f"Block {number}"):
                completed = self._transform(block, fewest=0)
            yield completed

    def _most_rows(self, n_rows: int, n_columns: int) -> int | None:
        """Return how many rows of so many are learned from at most; None for all."""
        return None

    def _sample_size(self) -> int:
        """Return how many rows are learned from where their number is not known yet."""
        self._check_params()
        most = self._most_rows(2**62, 1)
        if most is None:
            raise TypeError(
                f"{type(self).__name__} learns from all rows at once with these parameters, and "
                'takes no blocks; use engine="landmark", without noise.'
            )
        return most

    @all_or_nothing
    def _fit_gathered(self, gathered: Gathered, like: Any = None) -> None:
        """Learn from what blocks gathered; ``like`` has the columns, where they are not known."""
        if like is not None:
            self._validate(like, reset=True, fewest=0)
        sample = gathered.sample
        self._take_columns(gathered.tally)
        with showing(self.verbose):
            self._learn(np.where(sample.mask, sample.X, self._fill()), sample.mask)
        self._number_held_out(sample.number)
        for name in ("row_determined_", "cell_std_"):
            if hasattr(self, name):
                delattr(self, name)

    def _learn(self, completed: np.ndarray, mask: np.ndarray) -> None:
        most = self._most_rows(*mask.shape)
        if most is None or len(mask) <= most or not len(self._columns):  # nothing varies
            super()._learn(completed, mask)
            return
        train = training_rows(mask, most, self._seed())
        super()._learn(completed[train], mask[train])
        self._number_held_out(train)
        self._complete_all(completed, mask)

    def _number_held_out(self, numbers: np.ndarray) -> None:
        """Name rows that were held out by their numbers in the data, not in the sample."""
        if self.held_out_ is not None:
            self.held_out_ = self.held_out_._replace(rows=numbers[self.held_out_.rows])

    def _complete_all(self, completed: np.ndarray, mask: np.ndarray) -> None:
        """Complete every row by the model, and note what is known of each."""
        columns = self._columns
        every = len(columns) == mask.shape[1]
        some = (mask if every else mask[:, columns]).any(axis=1)
        self.row_determined_ = np.asarray(some)
        self.cell_std_ = self._blank_deviation(completed, mask)
        nothing = np.flatnonzero(~some)
        kept = completed[nothing], self.cell_std_[nothing]
        into = Completion(completed, self.cell_std_, np.zeros(len(mask)), np.zeros(len(mask), bool))
        self._model().complete(completed, mask, columns, into)
        # Rows of which nothing is known stay in the middle of the data.
        completed[nothing], self.cell_std_[nothing] = kept
        self.row_determined_ &= into.determined
