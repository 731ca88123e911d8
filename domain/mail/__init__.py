"""Emails that rules queue: their declarations, messages and the outbox."""
