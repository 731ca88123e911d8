"""Libraries of other people, as applications use them, sign users in through a running service."""
