"""Webhooks that administrators manage."""

SETTINGS = {"webhooks.enabled": "true", "webhooks.management": "admin"}
