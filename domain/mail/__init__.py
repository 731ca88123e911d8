"""Mail that a rule queues: messages and the outbox."""
