"""Passwords: check, change and reset them, and the requirements of new ones."""
