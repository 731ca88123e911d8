"""Passkeys: register credentials of authenticators, sign in with them, manage them."""
