"""Administration of all organizations, for callers with the permission `organization: manage`."""
