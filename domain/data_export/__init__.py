"""Export of the data of a user, and of all users."""
