"""The implementation of the SCIM protocol with scim2-models, without any I/O."""
