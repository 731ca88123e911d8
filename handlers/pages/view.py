"""The view of a hosted page: language, form, links, and the rendering of its template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from domain import localization, urls
from domain.context import Caller, Context, PageRequest
from domain.localization import LANGUAGES, Localization
from domain.pages import entries
from domain.pages.policy import PagesPolicy
from domain.policy import Policy
from handlers.pages import assets, field_texts, texts
from handlers.pages.environment import environment
from handlers.responses import redirects
from handlers.responses.reply import Header, Page, Redirect
from models.user import UserRow

# defence: V81 H2 content-security
_CONTENT_SECURITY_POLICY: Header = (
    b"content-security-policy",
    # A browser applies `form-action` to all redirects that follow a form: `domain.pages.leaving`.
    b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
)
_WITH_FRAMES: Header = (_CONTENT_SECURITY_POLICY[0], _CONTENT_SECURITY_POLICY[1] + b"; frame-src 'self'")


@dataclass(frozen=True, slots=True)
class Form:
    """The values of a form, and the errors of its last submission."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    errors: Mapping[str, str] = field(default_factory=dict)
    """The error texts by field name, in the language of the page."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The names of the fields for the summary of errors, by field name, in the language of the page."""
    message: str | None = None
    """The error text of the form as a whole; None if the errors are about fields."""
    code: str | None = None
    """The error code of the refusal; None if the form was not refused."""

    @property
    def is_refused(self) -> bool:
        """Whether the form is shown again because it was refused."""
        return self.code is not None

    def get(self, name: str, otherwise: str = "") -> str:
        """Return the value to show in a field; `otherwise` if the form has none."""
        return self.values.get(name, otherwise)


@dataclass(frozen=True, slots=True)
class View:
    """The data that every page needs. Links and forms pass `callback_url` and `ui_locales` on to the next pages."""

    policy: Policy
    localization: Localization
    form: Form
    callback_url: str | None = None
    ui_locales: str | None = None
    user: UserRow | None = None
    page: str | None = None
    """The path of this page below `pages.path`, without a query; None if it cannot be opened by its URL."""
    query: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    """The query of this page, without `callbackURL` and `ui_locales`."""
    templates_dir: Path | None = None
    """The folder with the operator's templates; None if there are only the built-in ones."""
    is_impersonated: bool = False
    """Whether an administrator acts in the name of the user."""
    application: str | None = None
    """The name of the OAuth client that the user continues to, as the client has chosen it; None if there is none."""

    def url(self, page: str, **query: str | None) -> str:
        """Return the path and query of another page; `callbackURL` and `ui_locales` are added unless in `query`."""
        carried = {"callbackURL": self.callback_url, "ui_locales": self.ui_locales}
        return urls.with_parameters(self.action(page), **(carried | query))

    @property
    def stop_impersonating(self) -> str:
        """The path of the form with which an administrator stops acting in the name of a user."""
        return View.action(self, "/stop-impersonating")

    def in_languages(self) -> Sequence[tuple[str, str, str]]:
        """Return every language with its tag, its own name, and the path of this page in that language."""
        here = self.url(self.page or "", **{**self.query, "ui_locales": None})
        joint = "&" if "?" in here else "?"
        return [(tag, name, f"{here}{joint}ui_locales={tag}") for tag, name in LANGUAGES.items()]

    def action(self, page: str) -> str:
        """Return the path of a page or form without a query; forms have `callbackURL` and `ui_locales` as fields."""
        return self.policy.base_path + self.policy[PagesPolicy].path + page

    def render(
        self,
        template: str,
        /,
        *,
        status: int = 200,
        frames: bool = False,
        headers: tuple[Header, ...] = (),
        **values: Any,
    ) -> Page:
        """Return a page: the template rendered with these values.

        `frames` allows the page to embed other pages of this service.
        """
        pages = self.policy[PagesPolicy]
        html = (
            environment(self.templates_dir, self.localization.language)
            .get_template(template)
            .render(
                view=self,
                form=self.form,
                app_name=self.policy.app_name,
                assets=assets.assets(self.policy),
                pages=pages,
                languages=LANGUAGES,
                **values,
            )
        )
        return Page(html, (_WITH_FRAMES if frames else _CONTENT_SECURITY_POLICY, *headers), status)

    def redirect(self, page: str, headers: tuple[Header, ...] = (), **query: str | None) -> Redirect:
        """Return the redirect to another page; `callbackURL` and `ui_locales` are added unless `query` has them."""
        return Redirect(self.url(page, **query), headers)

    def finish(self, headers: tuple[Header, ...] = ()) -> Redirect:
        """Return the redirect after the last page: to `callback_url`, else `pages.home_url`, else the account page."""
        # Not `self.url`, which would carry `callback_url` to the account page.
        home = self.policy[PagesPolicy].home_url or View(self.policy, self.localization, self.form).url("")
        redirect = redirects.on(self.policy, self.callback_url, home)
        return Redirect(redirect.location, headers)


def view(
    ctx: Context,
    page: str | None = None,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    **query: str | None,
) -> View:
    """Return the view of a request. `page` is the path of the page, such as `/sign-in`; None for a submitted form.

    For a submitted form, `callbackURL` and `ui_locales` are read from its fields. `query` has the page's own query
    parameters.
    """
    asked = ctx.facts.page or PageRequest()
    if page is None:
        callback_url = callback_url or asked.carried("callbackURL")
        ui_locales = ui_locales or asked.carried("ui_locales")
    user = ctx.caller.user if ctx.caller is not None else None
    chosen = _localization(ctx.policy, asked, ui_locales, user.locale if user is not None else None)
    return View(
        ctx.policy,
        chosen,
        _form(chosen, asked),
        callback_url or None,
        ui_locales or None,
        user,
        page,
        {**query, "entries": asked.entries},
        ctx.policy[PagesPolicy].templates_dir,
        ctx.caller is not None and ctx.caller.impersonated_by is not None,
    )


def standalone_view(
    policy: Policy,
    asked: PageRequest,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    caller: Caller | None = None,
) -> View:
    """Return the view of a page that is shown without a `Context`, for example of an error page."""
    user = None if caller is None else caller.user
    return View(
        policy,
        _localization(policy, asked, ui_locales, None if user is None else user.locale),
        Form(),
        callback_url or None,
        ui_locales or None,
        user,
        templates_dir=policy[PagesPolicy].templates_dir,
        is_impersonated=caller is not None and caller.impersonated_by is not None,
    )


def without_secrets(fields: Mapping[str, str]) -> Mapping[str, str]:
    """Return the fields of a form except the secret ones, such as passwords, which must not be shown again."""
    return {name: value for name, value in fields.items() if name not in entries.SECRET_FIELDS}


def _localization(policy: Policy, asked: PageRequest, *wishes: str | None) -> Localization:
    language = localization.negotiate(
        *wishes, accept_language=asked.accept_language, default=policy[PagesPolicy].locale
    )
    return localization.localization(language)


def _form(chosen: Localization, asked: PageRequest) -> Form:
    values = without_secrets(asked.submitted)
    if asked.refusal is None:
        return Form(values)
    wrong = field_texts.field_errors(chosen, asked.refusal, asked.submitted)
    return Form(
        values,
        wrong,
        field_texts.field_labels(chosen) if wrong else {},
        None if wrong else texts.sentence(chosen, asked.refusal),
        asked.refusal.code,
    )
