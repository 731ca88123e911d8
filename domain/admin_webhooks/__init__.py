"""Administration of webhooks: endpoints and their deliveries."""
