"""Passkeys of an application whose pages have another origin."""

from tests.authenticator import ORIGIN, RP_ID

SETTINGS = {"passkey.enabled": "true", "passkey.rp_id": RP_ID, "passkey.origins": ORIGIN}
