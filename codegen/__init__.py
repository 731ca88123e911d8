"""Tools around the contract: bundling, conversion and generated shapes."""
