"""Limits on failed attempts, emails and requests."""
