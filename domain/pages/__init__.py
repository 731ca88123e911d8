"""Hosted pages: their policy and their public URLs."""
