"""Identity providers: OpenID Connect and OAuth 2.0 clients; the port is `domain/identity_provider.py`."""
