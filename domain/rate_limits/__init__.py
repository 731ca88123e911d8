"""Limits of failures and emails."""
