"""The audit trail: record events, and search the records."""
