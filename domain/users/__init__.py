"""Users: their profile, look-up and locks."""
