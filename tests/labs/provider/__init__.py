"""A real OpenID Connect and OAuth 2.0 provider on the loopback, built with Authlib, that misbehaves when told to."""
