"""Codes sent by email: sign in, verify, reset the password, change the address."""
