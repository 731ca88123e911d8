"""Show a refused form again with what the user entered, which is kept encrypted in the URL of the page."""

from collections.abc import Mapping
from dataclasses import replace

from domain import errors, tokens, urls
from domain.context import Caller, PageRequest
from domain.errors import Refusal
from domain.pages import entries
from domain.pages.entries import Entries
from domain.policy import Cookies
from domain.ports import Cipher
from handlers.responses import cookies
from handlers.responses.reply import Redirect
from models.user import UserRow
from server.api.arguments import ENTRIES
from server.api.request import Operation, Request
from server.api.routing import filled


class FormEntries:
    """Reads and writes the entries of refused forms. A cookie identifies the browser, which reads only its own."""

    def __init__(self, cookie_policy: Cookies, cipher: Cipher) -> None:
        self._cookies = cookie_policy
        self._cipher = cipher

    def read(self, request: Request, operation: Operation) -> None:
        """Set the entries in the URL to be shown by the page, if they belong to this page, browser and account.

        Sets the arguments of the handler that are absent from the query, and `request.page`.
        """
        sealed = request.arguments.pop(ENTRIES, None)
        browser = self._browser(request)
        if not sealed or browser is None:
            return
        found = entries.unseal(
            self._cipher, sealed, page=operation.operation_id, browser=browser, now=request.now
        )
        if found is None:
            return
        is_others = (operation.extension.account or operation.extension.administrative) and not is_for(
            caller_of(request).user, found.fields
        )
        if is_others:  # defence: H8 entries-account
            return
        try:
            parameters = operation.inputs.shown_again(found.fields, request.captured)
        except Refusal:
            return
        for name in request.arguments:
            request.arguments[name] = request.arguments[name] or parameters.get(name)
        request.page = replace(
            request.page or PageRequest(),
            submitted={**found.fields, **found.withheld},
            refusal=found.refusal,
            entries=sealed,
        )

    def mark_browser(self, request: Request) -> None:
        """Set the cookie that identifies a browser, unless the browser has sent one."""
        if self._browser(request) is None:
            request.cookies.append(cookies.set_browser(self._cookies, tokens.token()))

    def _browser(self, request: Request) -> str | None:
        """Return the token of the browser, or None."""
        name = cookies.browser_name(self._cookies).encode()
        return next(iter(tokens.presented(request.head.cookies(name))), None)

    def redirect_to(self, request: Request, form: Operation, kept: Entries) -> Redirect | None:
        """Return the redirect to the page of a form, with the entries in the URL; None if they cannot be shown there.

        That is so if the browser sent no cookie, if the fields are invalid parameters of the page, or if the entries
        are too long for a URL.
        """
        fields, browser = kept.fields, self._browser(request)
        if browser is None:
            return None
        try:
            form.inputs.shown_again(fields, request.captured)
        except Refusal:
            return None
        sealed = entries.seal(self._cipher, kept, page=form.operation_id, browser=browser, now=request.now)
        carried = form.inputs.query.arguments if form.inputs.query is not None else ()
        query = {name: fields.get(name) for name in ("callbackURL", "ui_locales", "token") if name in carried}
        if sealed is None:
            return None
        path = filled(form.template, request.captured)
        return Redirect(urls.with_parameters(path, **query, entries=sealed))


def is_for(user: UserRow, form: Mapping[str, str]) -> bool:
    """Return whether a form was rendered for this user.

    The field `user` of the form is the user's id. Forms of an operator's own templates may have only the email address,
    in the field `account`.
    """
    shown_to = form.get("user")
    return shown_to == user.id if shown_to else form.get("account") == user.email


def caller_of(request: Request) -> Caller:
    """Return the caller of a request. Raises Unauthenticated."""
    if request.caller is None:
        raise errors.Unauthenticated
    return request.caller
