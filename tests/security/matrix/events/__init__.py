"""The events that may end ways in, one module for each capability."""
