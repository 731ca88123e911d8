"""Logs, access log, traces, metrics."""
