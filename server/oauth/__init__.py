"""Parts of the OAuth provider: checks of token requests by Authlib, metadata documents of clients, logout tokens."""
