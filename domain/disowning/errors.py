"""Errors about links that delete an account somebody else created."""

from domain.errors import BadRequest


class InvalidDisownToken(BadRequest):
    """The token is unknown, expired or used, or the address of its user was verified or changed."""

    code = "INVALID_TOKEN"
    message = "Invalid token"
