"""Sign-in and sign-out through the connections of organizations."""
