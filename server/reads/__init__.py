"""Single statements outside any transaction, without the ORM: the `Reads` of domain/ports.py on both databases."""
