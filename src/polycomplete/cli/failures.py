"""How a command fails: an exit code, and one line that says what to do."""

from __future__ import annotations

#: Exit codes; 0 is success.
FAILED, MISUSED, UNREADABLE, UNWRITABLE, INTERRUPTED = 1, 2, 3, 4, 130


class Failure(Exception):  # noqa: N818  (what went wrong with a command, not with the program)
    """Ends a command with a line and an exit code.

    Parameters
    ----------
    message : str
        One sentence.
    code : int
        The exit code.

    Examples
    --------
    >>> Failure("There is no column 'age'.").code
    1
    """

    def __init__(self, message: str, code: int = FAILED):
        super().__init__(message)
        self.code = code


def code_of(error: BaseException) -> int:
    """Return the exit code of an error.

    Parameters
    ----------
    error : exception
        What ended the command.

    Returns
    -------
    int

    Examples
    --------
    >>> code_of(OSError("No space left on device")), code_of(ValueError("no"))
    (4, 1)
    """
    if isinstance(error, Failure):
        return error.code
    if type(error).__name__ in ("TableFileError", "ModelFileError"):
        return UNREADABLE
    # Whatever is read is read by our own functions, which say so: what is left is writing.
    return UNWRITABLE if isinstance(error, OSError) else FAILED


def one_line(error: BaseException) -> str:
    r"""Return what an error says, on one line.

    Parameters
    ----------
    error : exception
        What ended the command.

    Returns
    -------
    str

    Examples
    --------
    >>> one_line(ValueError("X holds\n  text."))
    'X holds text.'
    >>> one_line(MemoryError())
    'There is not enough memory for this; use fewer rows.'
    """
    if isinstance(error, MemoryError) and not str(error):
        return "There is not enough memory for this; use fewer rows."
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split()) or f"{type(error).__name__}."
