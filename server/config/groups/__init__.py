"""The groups of settings, one module per capability."""
