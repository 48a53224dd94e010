"""The version of the library, in the one place that the build reads too."""

__version__ = "0.1.0"
