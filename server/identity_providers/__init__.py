"""Identity providers: OpenID Connect and OAuth 2.0 clients (behaviour 7); the port is `domain/identity_provider.py`."""
