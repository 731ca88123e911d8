"""The responder of hosted pages, for people."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from domain import errors
from domain.admin import permissions
from domain.admin.errors import NotAllowedWhileImpersonating
from domain.console.policy import ConsolePolicy
from domain.context import Caller, PageRequest
from domain.errors import Refusal
from domain.pages import leaving
from domain.pages.entries import Entries
from domain.pages.errors import CookiesBlocked, NotSubmitted
from domain.pages.policy import PagesPolicy
from domain.policy import Policy
from domain.ports import Cipher
from domain.sessions import expiry
from domain.sessions.errors import SessionNotFresh
from domain.sessions.policy import SessionPolicy
from domain.two_factor.errors import InvalidTwoFactorCookie
from handlers.console import refusals as console_refusals
from handlers.pages import refusals
from handlers.pages.refusals import Refused
from handlers.responses.reply import Page, Redirect
from server.api import cors
from server.api.arguments import ENTRIES
from server.api.errors import ErrorResponse, log_defect, status_headers
from server.api.interfaces import Endpoint
from server.api.request import Operation, Request, Responder
from server.api.responders.form_entries import FormEntries, caller_of, is_for
from server.api.responses import PAGE_HEADERS, answer
from server.api.routing import filled

_SHOWN_IN_FORMS = frozenset({400, 401, 403, 404, 409, 422, 429, 503})  # defence: H12 shown-in-forms
"""The statuses of errors that a user can correct in the form."""

_FINAL = frozenset({400, 403, 404, 414})
"""The statuses of errors that a page has again when it is opened again."""

_BEFORE_AUTHENTICATION = frozenset({404, 408, 413, 414, 431})
"""The statuses of errors that are found before the caller. Not that of the request limit, which costs no look-up."""

_CARRIED = frozenset({"callbackURL", "ui_locales"})
"""The fields that pass through all steps."""

_NEVER_IN_FORMS = (errors.CrossSiteForm, NotAllowedWhileImpersonating, SessionNotFresh)

_SIGN_IN = "pages.show_sign_in"
"""The page to sign in, which accepts a session and needs none."""


class PageResponder(Responder):
    """The responder for hosted pages. `operations` are all operations of the contract by operationId."""

    always = PAGE_HEADERS

    def __init__(
        self,
        operations: Mapping[str, Operation],
        endpoint: Endpoint,
        policy: Policy,
        cipher: Cipher,
        clock: Callable[[], datetime],
    ) -> None:
        self._operations = operations
        self._endpoint = endpoint
        self._policy = policy
        self._cipher = cipher
        self._clock = clock
        self._entries = FormEntries(policy.cookies, cipher)

    def holds(self, path: str) -> bool:
        """Return whether a decoded request path belongs to the pages, whose errors are shown as pages."""
        pages, console = self._policy[PagesPolicy], self._policy[ConsolePolicy]
        roots = [pages.path, console.path] if console.enabled else [pages.path]
        return pages.enabled and any(path.startswith(f"{self._policy.base_path}{root}/") for root in roots)

    def begin(self, request: Request) -> None:
        """Store the browser's languages in the request."""
        request.page = PageRequest(b",".join(request.head.every(b"accept-language")).decode("latin-1"))

    def check_caller(self, request: Request, operation: Operation) -> None:
        """Check that the caller of a page for administrators is an administrator.

        Raises NotAllowedWhileImpersonating, NotFound, TwoFactorRequired.
        """
        if operation.extension.administrative:
            permissions.require_administrator(self._policy, caller_of(request))

    def check_origin(self, request: Request, operation: Operation, *, by_cookie: bool) -> None:
        """Refuse a form that was not submitted by a page of this service."""
        if operation.checks_origin:
            cors.check_same_origin(self._policy.base_url, request.head)

    def admit(self, request: Request, operation: Operation) -> ErrorResponse | None:
        """Check that a form was rendered for the account that submits it, and that the session is fresh.

        Returns a page if the form was rendered for another account. Raises SessionNotFresh, CookiesBlocked.
        """
        if operation.method != "POST":
            self._entries.read(request, operation)
            self._require_fresh(request, operation)
            return None
        if operation.extension.signs_in and b"cookie" not in request.head.fields:
            raise CookiesBlocked
        form: Mapping[str, str] = request.arguments.get("body", {})
        request.page = replace(request.page or PageRequest(), form=form)
        if operation.extension.account:
            caller = caller_of(request)
            if not is_for(caller.user, form):  # defence: H8 same-account
                return self._other_account(request, caller, form.get("account") or "")
        self._require_fresh(request, operation)
        return None

    def _other_account(self, request: Request, caller: Caller, rendered_for: str) -> ErrorResponse:
        asked = request.page or PageRequest()
        if self._administrator(request) is None:
            page = refusals.other_account(self._policy, asked, caller, rendered_for=rendered_for)
        else:
            path = request.scope["path"]
            page = console_refusals.other_account(
                self._policy, asked, caller, path, request.now, rendered_for=rendered_for
            )
        return answer(page, request.scope["method"], request.head)

    def _require_fresh(self, request: Request, operation: Operation) -> None:
        if operation.extension.fresh:
            expiry.require_fresh(self._policy[SessionPolicy], caller_of(request), request.now)

    def respond(self, request: Request, operation: Operation, result: Any) -> ErrorResponse:
        """Return the response for the handler's result; a form that shows a refusal has an error status."""
        if operation.method == "POST" or not isinstance(result, Page):
            return self._answer(request, result)
        self._entries.mark_browser(request)
        refusal = None if request.page is None else request.page.refusal
        return self._answer(request, result) if refusal is None else self._form(request, result, refusal)

    def _form(self, request: Request, page: Page | Redirect, refusal: Refusal) -> ErrorResponse:
        """Return the response with a form that is shown again."""
        self._entries.mark_browser(request)
        if isinstance(page, Page) and page.status == 200:
            # A refused form gets 422, even if the JSON operation has another status (RFC 9110, 15.5.21).
            page = replace(page, status=refusal.status if refusal.status in (429, 503) else 422)
        status, headers, body = self._answer(request, page)
        return status, (*headers, *status_headers(status, refusal.retry_after)), body

    def _answer(self, request: Request, result: Page | Redirect) -> ErrorResponse:
        """Return the response for a page or a redirect; redirects to other sites go through one page only."""
        # defence: H15 leaving-page
        if isinstance(result, Redirect) and not leaving.is_page(self._policy, result.location):
            carried = request.arguments.get("body", request.arguments)
            languages = carried.get("ui_locales")
            url = leaving.leaving_url(self._policy, self._cipher, result.location, request.now, languages)
            result = replace(result, location=url)
        return answer(result, request.scope["method"], request.head)

    async def refuse(self, request: Request, refusal: Refusal) -> ErrorResponse:
        """Return the response to a refused request: its form again, if possible by a redirect, or that of `fail`."""
        form = self._form_of(request)
        if (
            form is None
            or refusal.status not in _SHOWN_IN_FORMS
            or isinstance(refusal, _NEVER_IN_FORMS)
            or _needs_sign_in(refusal)
            or not self._is_same_origin(request)
            or self._is_hidden(request.operation, refusal)
        ):
            await self._find_reader(request, refusal)
            return self.fail(request, refusal)
        shown: Page | Redirect | None = None
        if not _refuses_next(refusal):
            # Without its challenge the form of a code is of no use.
            page = self._operations[_SIGN_IN] if refusal.ends_challenge else form
            shown = self._entries.redirect_to(request, page, Entries(self._fields(request), refusal))
        if shown is None:
            shown = await self._show_again(request, form, refusal)
        return self.fail(request, refusal) if shown is None else self._form(request, shown, refusal)

    def _form_of(self, request: Request) -> Operation | None:
        operation = request.operation
        form = None if operation is None else operation.extension.form
        return None if form is None else self._operations[form]

    async def _find_reader(self, request: Request, refusal: Refusal) -> None:
        """Find the caller of a request that was refused before its authentication, whose language the page has."""
        page = self._operations.get(_SIGN_IN)
        if page is not None and request.caller is None and refusal.status in _BEFORE_AUTHENTICATION:
            request.now = self._clock()
            with suppress(Refusal):
                await page.security.authenticate(request)

    def fail(self, request: Request, refusal: Refusal) -> ErrorResponse:
        """Return an error page, or a redirect to the page where the user signs in again."""
        operation = request.operation
        try:
            page = self._page(request, operation, refusal)
        except Exception as error:  # A template of the operator may fail when it is rendered.
            log_defect(error, request.client.request_id)
            # The template of the operator may be what failed.
            page = self._page(request, operation, errors.InternalServerError(), with_built_in=True)
        status, headers, body = self._answer(request, page)
        return status, (*headers, *status_headers(status, refusal.retry_after)), body

    def _page(
        self, request: Request, operation: Operation | None, refusal: Refusal, *, with_built_in: bool = False
    ) -> Page | Redirect:
        if self._is_hidden(operation, refusal):  # defence: C1 hidden
            operation = None
        refused = Refused(
            policy=self._policy,
            asked=replace(
                request.page or PageRequest(),
                submitted={} if operation is None else self._fields(request),
            ),
            refusal=refusal,
            caller=request.caller,
            came_from="" if operation is None else self._came_from(request, operation, refusal),
            action=request.scope["path"] if self._can_be_sent_again(request, operation, refusal) else None,
            request_id=request.client.request_id,
            names_parameters=operation is not None and operation.extension.administrative,
        )
        redirect = refusals.redirect(refused)
        if redirect is not None:
            return redirect
        administrator = self._administrator(request)
        # Without the database, the service does not know who calls.
        is_unknown = request.caller is None and isinstance(refusal, errors.Unavailable)
        has_frame = administrator is not None or (refused.names_parameters and is_unknown)
        if with_built_in or not has_frame:
            return refusals.page(refused, with_built_in=with_built_in)
        return console_refusals.page(refused, administrator, request.scope["path"], request.now)

    def _administrator(self, request: Request) -> Caller | None:
        """Return the caller of a path of the console if they may see its frame."""
        console, caller = self._policy[ConsolePolicy], request.caller
        root = self._policy.base_path + console.path
        path = request.scope["path"]
        if caller is None or not console.enabled or not (path == root or path.startswith(f"{root}/")):
            return None
        try:
            permissions.require_administrator(self._policy, caller)  # defence: C1 error-frame
        except Refusal:
            return None
        return caller

    def _is_hidden(self, operation: Operation | None, refusal: Refusal) -> bool:
        """Return whether the response must equal that of a path that does not exist."""
        is_administrative = operation is not None and operation.extension.administrative
        return is_administrative and type(refusal) is errors.NotFound

    async def _show_again(
        self, request: Request, form: Operation, refusal: Refusal
    ) -> Page | Redirect | None:
        """Return the page of a form with the submitted values; None if it cannot be rendered."""
        submitted = self._fields(request)
        request.page = replace(request.page or PageRequest(), submitted=submitted, refusal=refusal)
        try:
            if request.caller is None and request.challenge is None:
                await form.security.authenticate(request)
            self.check_caller(request, form)  # defence: C1 shown-again
            self._require_fresh(request, form)
            request.arguments = form.inputs.shown_again(submitted, request.captured)
            request.arguments.pop(ENTRIES, None)
            page: Page | Redirect = await self._endpoint(form, request)
        except Refusal:
            return None
        except Exception as error:
            log_defect(error, request.client.request_id)
            return None
        return page

    def _fields(self, request: Request) -> Mapping[str, str]:
        """Return the unvalidated fields of the form, or the parameters of the query.

        For a form that could not be read, they are the parameters of the page that it was on.
        """
        if request.protocol is not None:
            return {name: values[0] for name, values in request.protocol.values.items()}
        if request.scope["method"] == "POST":
            return request.form() or self._fields_of_referrer(request)
        return dict(parse_qsl(request.scope["query_string"].decode("latin-1")))

    def _fields_of_referrer(self, request: Request) -> Mapping[str, str]:
        referrer = urlsplit(request.head.fields.get(b"referer", b"").decode("latin-1"))
        if f"{referrer.scheme}://{referrer.netloc}" != self._policy.base_url:
            return {}
        return {name: value for name, value in parse_qsl(referrer.query) if name in _CARRIED}

    def _can_be_sent_again(self, request: Request, operation: Operation | None, refusal: Refusal) -> bool:
        """Return whether a form failed only because the service was unavailable, so that it can be submitted again."""
        has_form = operation is not None and operation.extension.form is not None
        return has_form and isinstance(refusal, errors.Unavailable) and self._is_same_origin(request)

    def _is_same_origin(self, request: Request) -> bool:
        """Return whether a page of this service sent the form; the request may have failed before that check."""
        try:
            cors.check_same_origin(self._policy.base_url, request.head)  # defence: H1 kept-form
        except errors.CrossSiteForm:
            return False
        return True

    def _came_from(self, request: Request, operation: Operation, refusal: Refusal) -> str:
        """Return the path and query of the page that the user was on; empty if it always fails.

        For a form, it is its page with the values that the page takes, apart from secrets.
        """
        if operation.method != "POST":
            if refusal.status in _FINAL and not isinstance(refusal, SessionNotFresh):
                return ""
            query = request.scope["query_string"].decode("latin-1")
            path = filled(operation.template, request.captured)
            return f"{path}?{query}" if query else path
        form = self._form_of(request) or operation
        if form.responder is not self:  # It shows no form of its own.
            return ""
        path = filled(form.template, request.captured)
        if form is operation or not self._is_same_origin(request):
            return path
        fields, unsent = request.form(), NotSubmitted()
        account = {name: fields[name] for name in ("account", "user") if name in fields}
        redirect = (
            self._entries.redirect_to(request, form, Entries(fields, unsent))
            or self._entries.redirect_to(request, form, Entries(account, unsent))
        )  # fmt: skip
        return path if redirect is None else redirect.location


def _refuses_next(refusal: Refusal) -> bool:
    """Return whether the request that follows a redirect would be refused as well."""
    return isinstance(refusal, errors.Unavailable) or (
        isinstance(refusal, errors.Limited) and refusal.kind == "requests"
    )


def _needs_sign_in(refusal: Refusal) -> bool:
    """Return whether the user must sign in, or prove again who they are, before a form can be submitted."""
    return type(refusal) is errors.Unauthenticated or isinstance(
        refusal, (SessionNotFresh, InvalidTwoFactorCookie)
    )
