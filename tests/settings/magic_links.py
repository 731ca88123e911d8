"""Sign-in by link, whose page belongs to an application at the URL of the service."""

WITH_MAIL = {"magic_links.enabled": "true", "magic_links.page": "http://localhost:8000/confirm?lang=en"}
