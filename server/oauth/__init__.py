"""Authlib as the engine of the OAuth and OpenID Connect provider, without any I/O in it."""
