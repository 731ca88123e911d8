"""Deletion of a user: by the user, or by the owner of the user's unverified address."""
