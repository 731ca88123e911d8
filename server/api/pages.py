"""Responses of hosted pages, and for refusals: the form again with what was sent, or a page that says what happened."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from domain import errors
from domain.admin.errors import NotAllowedWhileImpersonating
from domain.context import PageRequest
from domain.errors import Refusal
from domain.pages import leaving
from domain.pages.policy import PagesPolicy
from domain.policy import Policy
from domain.ports import Cipher
from handlers.pages import refusals
from handlers.pages.environment import template_error
from handlers.responses.reply import Page, Redirect
from server.api import cors, request_body
from server.api.errors import ErrorResponse, log_defect, status_headers
from server.api.headers import RequestHeaders
from server.api.interfaces import Endpoint
from server.api.request import Operation, Request
from server.api.responses import answer
from server.config.settings import Settings

_SHOWN_IN_FORMS = frozenset({400, 401, 403, 404, 409, 422, 429, 503})  # defence: H12 shown-in-forms
"""The statuses of refusals that a person can do something about in the form."""

_NEVER_IN_FORMS = (errors.CrossSiteForm, NotAllowedWhileImpersonating)


class PageResponses:
    """Makes the responses of pages, also to refusals. `operations` are all of the contract, by operationId."""

    def __init__(
        self, operations: Mapping[str, Operation], endpoint: Endpoint, policy: Policy, cipher: Cipher
    ) -> None:
        self._operations = operations
        self._endpoint = endpoint
        self._policy = policy
        self._cipher = cipher

    def holds(self, path: str) -> bool:
        """Return whether a decoded request path is below the pages, so that a person looks at the response."""
        pages = self._policy[PagesPolicy]
        return pages.enabled and path.startswith(f"{self._policy.base_path}{pages.path}/")

    def answer(self, request: Request, result: object) -> ErrorResponse:
        """Return the response for what the handler of a page returned; a redirect leaves the pages by one page only."""
        # defence: H15 leaving-page
        if isinstance(result, Redirect) and not leaving.is_page(self._policy, result.location):
            carried = request.arguments.get("body", request.arguments)
            languages = carried.get("ui_locales")
            url = leaving.leaving_url(self._policy, self._cipher, result.location, request.now, languages)
            result = replace(result, location=url)
        return answer(result, request.scope["method"], request.head)

    async def render(self, request: Request, operation: Operation, refusal: Refusal) -> ErrorResponse:
        """Return the response to a refused request: its form again, a redirect to sign in, or an error page."""
        form = None if operation.form is None else self._operations[operation.form]
        shown = None
        if (
            form is not None
            and refusal.status in _SHOWN_IN_FORMS
            and not isinstance(refusal, _NEVER_IN_FORMS)
        ):
            shown = await self._show_again(request, form, refusal)
        if shown is not None and shown.status == 200:
            # A form that was shown is answered with 422, whatever a program would be told (RFC 9110, 15.5.21).
            status = refusal.status if refusal.status in (429, 503) else 422
            shown = replace(shown, status=status)
        if shown is None:
            return self.error(request, operation, refusal)
        status, headers, body = self.answer(request, shown)
        return status, (*headers, *status_headers(status, refusal.retry_after)), body

    def error(self, request: Request, operation: Operation | None, refusal: Refusal) -> ErrorResponse:
        """Return a page that says what happened, or a redirect to the page where a person proves who they are.

        `operation` is None for a path that no operation has.
        """
        try:
            page = self._page(request, operation, refusal)
        except Exception as error:  # A template of the operator's fails when it is rendered.
            log_defect(error, request.client.request_id)
            page = self._page(request, operation, errors.InternalServerError(), with_built_in=True)
        status, headers, body = self.answer(request, page)
        return status, (*headers, *status_headers(status, refusal.retry_after)), body

    def _page(
        self, request: Request, operation: Operation | None, refusal: Refusal, *, with_built_in: bool = False
    ) -> Page | Redirect:
        return refusals.page(
            self._policy,
            replace(
                request.page or PageRequest(),
                submitted={} if operation is None else self._fields(request, operation),
            ),
            refusal,
            locale=None if request.caller is None else request.caller.user.locale,
            came_from="" if operation is None else self._came_from(request, operation),
            action=request.scope["path"] if self._can_be_sent_again(request, operation, refusal) else None,
            request_id=request.client.request_id,
            with_built_in=with_built_in,
        )

    async def _show_again(
        self, request: Request, form: Operation, refusal: Refusal
    ) -> Page | Redirect | None:
        """Return the page of a form with what was sent; None where it cannot be shown."""
        submitted = self._submitted(request)
        names = form.inputs.query.arguments if form.inputs.query is not None else {}
        query = urlencode({name: submitted[name] for name in names if submitted.get(name)})
        request.page = replace(request.page or PageRequest(), submitted=submitted, refusal=refusal)
        try:
            if request.caller is None and request.challenge is None:
                await form.security.authenticate(request)
            request.arguments = form.inputs.arguments(query.encode(), {}, RequestHeaders(()), b"")
            page: Page | Redirect = await self._endpoint(form, request)
        except Refusal:
            return None
        except Exception as error:
            log_defect(error, request.client.request_id)
            return None
        return page

    def _fields(self, request: Request, operation: Operation) -> Mapping[str, str]:
        """Return what was sent, unchecked: the fields of the form, or the parameters of the query."""
        if operation.method == "POST":
            return self._submitted(request)
        return dict(parse_qsl(request.scope["query_string"].decode("latin-1")))

    def _submitted(self, request: Request) -> Mapping[str, str]:
        try:
            return request_body.parse_form(request.body)
        except errors.BadRequest:
            return {}

    def _can_be_sent_again(self, request: Request, operation: Operation | None, refusal: Refusal) -> bool:
        """Return whether a form was sent with which nothing was wrong."""
        if operation is None or operation.form is None or not isinstance(refusal, errors.Unavailable):
            return False
        try:
            # The request may have failed before its origin was checked.
            cors.check_same_origin(self._policy.base_url, request.head)  # defence: H1 kept-form
        except errors.CrossSiteForm:
            return False
        return True

    def _came_from(self, request: Request, operation: Operation) -> str:
        """Return the path, and for GET the query, of the page where the person was."""
        if operation.method != "POST":
            query = request.scope["query_string"].decode("latin-1")
            return f"{operation.template}?{query}" if query else operation.template
        form = None if operation.form is None else self._operations[operation.form]
        return operation.template if form is None else form.template


def check(settings: Settings) -> Iterator[str]:
    """Yield what is wrong with the templates in `pages.templates_dir`."""
    folder = settings.pages.templates_dir
    if folder is None or not folder.is_dir():
        return
    if (fault := template_error(folder)) is not None:
        yield f"pages.templates_dir: {fault}"
