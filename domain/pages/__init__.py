"""Hosted pages: what the operator decided about them, and their public URLs."""
