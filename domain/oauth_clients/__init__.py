"""Clients of the OAuth and OpenID Connect provider: their metadata, authentication, and the form of their requests."""
