"""Sign-up and sign-in, and the gate that every sign-in passes."""
