"""Linked accounts."""
