"""Linked accounts of users: the password, and identities at providers."""
