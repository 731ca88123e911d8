"""Emails: senders, templates, and the queues that deliver emails of the outbox."""
