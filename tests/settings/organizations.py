"""Organizations with teams."""

SETTINGS = {"organizations.enabled": "true", "organizations.teams.enabled": "true"}
