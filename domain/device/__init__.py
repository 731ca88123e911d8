"""Sign-in on devices without a browser, by a code that the user enters elsewhere (RFC 8628)."""
