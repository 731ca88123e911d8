"""The log, the access log, traces, and metrics."""
