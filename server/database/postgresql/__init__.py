"""What is particular to PostgreSQL: its engine, transactions, batched reads."""
