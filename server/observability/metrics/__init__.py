"""The Prometheus metrics of the service."""
