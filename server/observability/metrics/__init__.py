"""What Prometheus reads of the service: counted in plain Python, put into its form only when it is asked for."""
