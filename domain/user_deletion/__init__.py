"""Deletion of a user by themselves."""
