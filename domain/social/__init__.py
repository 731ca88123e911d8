"""Sign-in and linking through identity providers, and their tokens."""
