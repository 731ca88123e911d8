"""The processes of the service, for administrators of the service."""
