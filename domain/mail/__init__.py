"""Emails that the service sends: their declarations, their messages, and the outbox that queues them."""
