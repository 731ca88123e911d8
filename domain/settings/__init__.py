"""The settings in force, for administrators of the service."""
