"""Tests of server/webhooks."""
