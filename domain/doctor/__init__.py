"""The checks of the installation, for administrators of the service."""
