"""Sign-in by a link sent by email."""
