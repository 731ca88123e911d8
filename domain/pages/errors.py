"""Errors of hosted pages."""

from domain.errors import BadRequest


class InvalidTarget(BadRequest):
    """The encrypted target URL of the page that leaves the hosted pages is missing, changed or expired."""

    message = "Invalid or expired target"


class CookiesBlocked(BadRequest):
    """The browser sends no cookies, so a form cannot sign it in; nothing was done."""

    message = (
        "Your browser blocks cookies, and without them you cannot be signed in. Nothing was done. Allow cookies for "
        "this site, and try again."
    )


class NotSubmitted(BadRequest):
    """The user had to sign in before a form was processed; nothing was done."""

    message = "Nothing was done yet, because you had to sign in first. Look at the form, and send it again."
