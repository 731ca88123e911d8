"""The responses of handlers: results, cookies, redirects, and responses that begin or end a session."""
