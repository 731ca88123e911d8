"""Write and verify messages of a strict profile of SAML 2.0, as service provider, without database, HTTP or clock.

Other packages use only the module `service_provider`, which is loaded when the first message is written or read.
"""
