"""API keys: credentials of programs, which other services verify here."""
