"""Webhooks: events that are sent to the endpoints of other systems."""
