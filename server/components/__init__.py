"""Periodic work: clean-up, rotation of encryption keys."""
