"""Clients of the SCIM protocol by others, at a running service."""
