"""The end of sessions, as clients of the OAuth provider are told (OpenID Connect Back-Channel Logout 1.0)."""
