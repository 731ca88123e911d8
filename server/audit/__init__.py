"""Audit records that are written outside the request's transaction."""
