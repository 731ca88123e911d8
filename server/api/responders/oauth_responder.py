"""The responder of operations of the OAuth protocol, whose errors have names of their own (RFC 6749, 5.2)."""

from http import HTTPStatus

import orjson

from domain import errors
from domain.errors import Refusal
from domain.oauth_clients.errors import InvalidRequest, OAuthError
from domain.oauth_clients.parameters import OAuthParameters
from handlers.responses.reply import Redirect
from server.api.arguments import PARAMETERS
from server.api.errors import CONTENT_TYPE, ErrorResponse, render_refusal, status_headers
from server.api.request import Operation, Request, Responder
from server.api.responders.page_responder import PageResponder
from server.api.responses import answer

_OWN_NAMES = {
    HTTPStatus.BAD_REQUEST: InvalidRequest.error,
    HTTPStatus.TOO_MANY_REQUESTS: "temporarily_unavailable",
    HTTPStatus.SERVICE_UNAVAILABLE: "temporarily_unavailable",
    HTTPStatus.INTERNAL_SERVER_ERROR: "server_error",
}
"""The names in the protocol of errors that every operation can have; others keep the form of all operations."""

_OF_THE_SERVICE = frozenset(_OWN_NAMES) - {HTTPStatus.BAD_REQUEST}
"""The statuses of errors for which the request is not to blame."""


class OAuthResponder(Responder):
    """The responder for clients of the OAuth protocol. `domain` authenticates clients, so no origin is checked.

    With `pages`, it also responds to browsers that clients redirect here. If the service itself fails, it redirects the
    browser to the client or, if the client is not known yet, shows an error page.
    """

    def __init__(self, pages: PageResponder | None = None) -> None:
        self._pages = pages

    def admit(self, request: Request, operation: Operation) -> ErrorResponse | None:
        """Store the Authorization header in the OAuth parameters of the request, and return None."""
        parameters = request.arguments.get(PARAMETERS)
        sent = request.head.every(b"authorization")
        if isinstance(parameters, OAuthParameters):
            request.protocol = parameters
            if sent:
                parameters.authorization = sent[0].decode("latin-1") if len(sent) == 1 else ""
        return None

    def fail(self, request: Request, refusal: Refusal) -> ErrorResponse:
        """Return the error response in the form of the protocol, or a redirect or page for a browser."""
        if isinstance(refusal, OAuthError):
            challenge = refusal.challenge
            named = ((b"www-authenticate", challenge.encode()),) if challenge is not None else ()
            return refusal.status, (CONTENT_TYPE, *named), _body(refusal.error, refusal.message)
        name = _OWN_NAMES.get(HTTPStatus(refusal.status))
        if name is None:
            return render_refusal(refusal)
        if self._pages is not None and refusal.status in _OF_THE_SERVICE:
            error_url = None if request.protocol is None else request.protocol.error_url
            if error_url is not None:  # defence: O26 error-redirect
                redirect = Redirect(error_url(name, refusal.message))
                return answer(redirect, request.scope["method"], request.head)
            if request.head.is_navigation():
                request.responder = self._pages
                self._pages.begin(request)
                return self._pages.fail(request, refusal)
        message = InvalidRequest.message if type(refusal) is errors.BadRequest else refusal.message
        headers = (CONTENT_TYPE, *status_headers(refusal.status, refusal.retry_after))
        return refusal.status, headers, _body(name, message)


def _body(error: str, description: str) -> bytes:
    return orjson.dumps({"error": error, "error_description": description})
