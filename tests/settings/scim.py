"""The settings of directories in tests."""

SETTINGS = {"scim.enabled": "true"}
