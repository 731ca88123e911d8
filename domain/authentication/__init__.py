"""Sign-up and sign-in, and the checks that complete every sign-in (`gate`)."""
