"""Sign-in by a code that is sent by email."""

WITH_MAIL = {"email_codes.enabled": "true"}
