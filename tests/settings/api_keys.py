"""A service that verifies API keys."""

VERIFIER = "v" * 40
"""The token of the service."""
SETTINGS = {"api_keys.verifiers": f"tests:{VERIFIER}"}
