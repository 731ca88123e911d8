"""Clients of the OAuth and OpenID Connect provider: their metadata and authentication, and the form of its requests."""
