"""Errors of hosted pages."""

from domain.errors import BadRequest


class InvalidTarget(BadRequest):
    """The sealed target of the page that leaves the hosted pages is missing, changed or expired."""

    message = "Invalid or expired target"
