"""The database: engine, connection pool, transactions, reads, migrations, errors."""
