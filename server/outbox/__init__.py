"""What is sent later: rows that a transaction queued, claimed by lease, and processed after its commit."""
