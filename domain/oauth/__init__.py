"""The OAuth 2.1 and OpenID Connect provider: consents, grants and tokens, from their issue to their revocation."""
