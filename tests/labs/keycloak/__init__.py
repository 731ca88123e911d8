"""Keycloak as the identity provider of a connection, in a real browser: `make test-keycloak`."""
