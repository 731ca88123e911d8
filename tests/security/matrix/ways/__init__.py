"""The ways in, one module for each capability."""
