"""Audit of refused requests and of the service itself, and audit records written outside the request's transaction."""
