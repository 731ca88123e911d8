"""Connections to identity providers: domain names and their records, and discovery documents."""
