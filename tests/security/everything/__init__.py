"""A journey through every operation of the contract."""
