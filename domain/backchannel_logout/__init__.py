"""Notify OAuth clients of the end of sessions (OpenID Connect Back-Channel Logout 1.0)."""
