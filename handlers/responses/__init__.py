"""What handlers respond with: results, cookies, redirects, and the responses that begin or end a session."""
