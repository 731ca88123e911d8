"""Users from other programs."""
