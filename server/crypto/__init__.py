"""Cryptography: encryption at rest, password hashes, signed tokens, passkeys, certificates and XML encryption."""
