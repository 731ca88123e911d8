"""The consents of users: what they have allowed clients."""
