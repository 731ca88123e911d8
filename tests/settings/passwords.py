"""Hashing that costs little and does not lower its priority."""

SETTINGS = {"password.argon2_memory_kib": "1024", "password.argon2_time": "1", "password.hash_nice": "0"}
