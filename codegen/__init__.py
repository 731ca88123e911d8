"""Tools for the contract: bundling, conversion and generated shapes."""
