"""Directories of companies: users and groups that an identity provider creates, changes and disables (SCIM 2.0)."""
