"""Encryption at rest, password hashing, hashes of other programs, common passwords."""
