"""Running the service, for its administrators: emails and signing keys."""
