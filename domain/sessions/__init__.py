"""Sessions of users: open, list and end them."""
