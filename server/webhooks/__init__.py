"""Deliver webhooks: sign and send requests, and record the outcome."""
