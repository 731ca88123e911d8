"""Authorization requests: what clients ask of users, and what users do on the pages of a request."""
