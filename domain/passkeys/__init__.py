"""Passkeys: register, list, rename and remove them, and sign in with them."""
