"""The PostgreSQL backend: engine, transactions, batched reads."""
