"""scim2-models as the engine of the SCIM protocol, without any I/O in it."""
