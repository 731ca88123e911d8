"""Authorization and logout requests of clients, and what users do on the pages of a request."""
