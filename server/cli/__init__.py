"""The commands of the program `gatewright`, one module per subject."""

# A process that serves beside others begins here, and must not import the libraries whole.
from server.imports import libraries

__all__ = ["libraries"]
