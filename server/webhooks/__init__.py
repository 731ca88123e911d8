"""Deliveries of webhooks: signing, attempts, and their outcome."""
