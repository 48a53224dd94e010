"""The commands, one a file: each decorates a function with ``command`` of ``polycomplete.cli.app``.

Every file here is loaded when the program starts, so that it must load nothing heavy itself: what a
command needs it imports when it runs.
"""

__all__ = ["FIRST"]

#: How they are listed; others come after these.
FIRST = ["complete", "apply", "check", "compare", "classify", "cluster"]
