"""Look up what connections to identity providers need: TXT records of domains, discovery documents, SAML metadata."""
