"""Connections to the identity providers of organizations: register, change, delete them, and verify domains."""
