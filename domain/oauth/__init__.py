"""The OAuth 2.1 and OpenID Connect provider: authorization, tokens, their end, logout."""
