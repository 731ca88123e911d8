"""Import of users and organizations from other programs."""
