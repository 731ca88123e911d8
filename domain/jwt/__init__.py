"""Signed tokens (JWT) for other services, and the keys that sign them."""
