"""Users: their profile, how they are found and locked."""
