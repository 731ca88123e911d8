"""Emails that rules queue: messages and the outbox."""
