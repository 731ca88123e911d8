"""Limits of failures and mails."""
