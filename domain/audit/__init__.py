"""The audit trail: the record of an event, and the search."""
