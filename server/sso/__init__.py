"""For connections to identity providers: domain names and their TXT records, discovery documents, SAML metadata."""
