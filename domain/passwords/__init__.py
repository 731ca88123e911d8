"""Passwords: change, reset, check, strength."""
