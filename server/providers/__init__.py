"""Identity providers: OpenID Connect and OAuth 2.0 clients behind the port `domain/providers.py` (behaviour 7)."""
