"""The components of the service: one module per capability, with its adapters, periodic jobs and checks of settings."""
