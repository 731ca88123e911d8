"""A strict profile of SAML 2.0 for a service provider: no database, no HTTP, no clock.

Only `service_provider` is used from outside; it is loaded at the first message, because most services need no SAML.
"""
