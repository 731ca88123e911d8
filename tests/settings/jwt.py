"""Signing keys that cost little: no RSA key is generated."""

SETTINGS = {"jwt.algorithms": "ES256"}
