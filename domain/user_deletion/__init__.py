"""Deletion of a user: by themselves, or by the owner of the address that they never verified."""
