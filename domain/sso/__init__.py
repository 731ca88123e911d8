"""Sign-in of companies' users through the company's own identity provider (OpenID Connect or SAML 2.0)."""
