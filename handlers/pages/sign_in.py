"""The pages to sign in with a password, through a provider, or through an organization's single sign-on."""

from collections.abc import Mapping
from dataclasses import replace

from domain import identifiers
from domain.authentication import sign_in as authentication
from domain.authentication.gate import SignInOptions
from domain.context import Context
from domain.localization import N_
from domain.oauth_requests import details
from domain.oauth_requests.details import RequestDetails
from domain.oauth_requests.evaluation import LoginReason
from domain.social import authorization_request
from domain.social.authorization_request import AuthorizationRequest
from domain.sso_sign_in import begin
from domain.sso_sign_in.connections import ConnectionSelector
from domain.users.policy import UsernamePolicy
from handlers import shapes
from handlers.pages import authorization, sign_in_methods, texts
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.responses.sessions import authorization_redirect

ERROR_TEXTS: Mapping[str, str] = {
    "SSO_PROVIDER_NOT_FOUND": N_("No organization signs in with this email address here. Check the address."),
    "SSO_REQUIRED": N_("Your organization wants you to sign in through its own sign-in."),
}
ERROR_FIELDS: Mapping[str, tuple[str, ...]] = {"SSO_PROVIDER_NOT_FOUND": ("email",)}

_REASONS = {
    "expired": N_("This sign-in took too long or was finished elsewhere. Sign in again."),
    "reset": N_("Your password has been changed. Sign in with the new one."),
    "verified": N_("Your email address is verified. You can sign in now."),
    "deleted": N_("Your account has been deleted."),
}

_LOGIN_REASONS = {
    LoginReason.LOGIN: N_("The application wants you to sign in again."),
    LoginReason.MAX_AGE: N_("You signed in a while ago. The application wants you to sign in again."),
    LoginReason.HINT: N_(
        "You are signed in as %(email)s, but the application expects another account. Sign in to that one."
    ),
}
"""Why a user who is already signed in has to sign in again."""


# pages.show_sign_in
async def show_sign_in(
    ctx: Context,
    request: str | None = None,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    prompt: str | None = None,
    reason: str | None = None,
) -> Page:
    """Show the ways to sign in, or ask a signed-in user whether to continue."""
    found = await authorization.requested(ctx, request, callback_url)
    view = authorization.view(ctx, "/sign-in", found, callback_url, ui_locales, prompt=prompt)
    must_sign_in = prompt == "login" or (found is not None and found.reason is not None)
    # A refused form must be shown with its error, also to a user who is signed in.
    if ctx.caller is not None and not must_sign_in and not view.form.is_refused:
        return view.render("continue.html", target=view.finish().location)
    return view.render(
        "sign_in.html",
        notice=_notice(view, found, reason),
        identifier=_identifier(ctx, found),
        **sign_in_methods.offered(ctx),
    )


def _notice(view: views.View, found: RequestDetails | None, reason: str | None) -> str | None:
    """Return why the user has to sign in, as a sentence; None if there is nothing to say."""
    if view.user is not None and found is not None and found.reason is not None:
        text = view.localization.gettext(_LOGIN_REASONS[found.reason])
        return text % {"email": view.user.email} if found.reason is LoginReason.HINT else text
    notice = _REASONS.get(reason or "")
    return notice and view.localization.gettext(notice)


def _identifier(ctx: Context, found: RequestDetails | None) -> str:
    """Return the value of the first field: the `login_hint` of the application, or the address of the signed-in user.

    The latter only if the application wants that user to sign in again.
    """
    hint = authorization.login_hint(found)
    if hint or found is None or ctx.caller is None:
        return hint
    return ctx.caller.user.email if found.reason in (LoginReason.LOGIN, LoginReason.MAX_AGE) else ""


# pages.sign_in
async def sign_in(ctx: Context, body: shapes.SignInForm) -> Redirect:
    """Sign in with an email address or a username, and a password."""
    view = views.view(ctx)
    identifier = body["identifier"].strip()
    remembered = body.get("rememberMe") == "true"
    # A username contains no `@`, so one field is enough for both.
    if "@" in identifier or not ctx.policy[UsernamePolicy].enabled:
        options = SignInOptions(remembered, _verification_target(view), "password")
        opened = await authentication.sign_in_by_email(ctx, identifier, body["password"], options)
    else:
        options = SignInOptions(remembered, _verification_target(view), "username")
        opened = await authentication.sign_in_by_username(ctx, identifier, body["password"], options)
    return await sign_in_methods.complete_sign_in(ctx, view, opened)


def _verification_target(view: views.View) -> str:
    """Return the URL of the page that a mailed verification link opens."""
    return view.url("/verify-email")


# pages.sign_in_with_provider
async def sign_in_with_provider(ctx: Context, body: shapes.ProviderForm) -> Redirect:
    """Begin a sign-in through a provider, and redirect to the provider."""
    return await _go_to_provider(ctx, body["provider"], request_sign_up=True)


# pages.show_sso_sign_in
async def show_sso_sign_in(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, email: str | None = None
) -> Page:
    """Ask for an email address, which determines the organization to sign in through."""
    view = views.view(ctx, "/sign-in/sso", callback_url, ui_locales, email=email)
    view = await authorization.named(ctx, view)
    return view.render("sso_sign_in.html", email=email or "")


# pages.sign_in_with_sso
async def sign_in_with_sso(ctx: Context, body: shapes.SsoSignInForm) -> Redirect:
    """Begin a sign-in through the organization of an email address, and redirect to its identity provider."""
    email = identifiers.email(body["email"].strip())
    forces = await details.forces_authentication(ctx, views.view(ctx).callback_url)
    request = replace(_request(ctx, ""), login_hint=email, forces_authentication=forces)
    redirect = await begin.begin(ctx, ConnectionSelector(email=email), request)
    return Redirect(redirect.url, authorization_redirect(ctx, redirect, None).headers)


# pages.confirm_with_provider
async def confirm_with_provider(ctx: Context, body: shapes.ConfirmWithProviderForm) -> Redirect:
    """Begin a sign-in through a provider that succeeds only as the signed-in user, and redirect to the provider."""
    return await _go_to_provider(ctx, body["provider"], confirms_caller=True)


async def _go_to_provider(
    ctx: Context, provider_id: str, *, request_sign_up: bool = False, confirms_caller: bool = False
) -> Redirect:
    request = replace(
        _request(ctx, provider_id), request_sign_up=request_sign_up, confirms_caller=confirms_caller
    )
    redirect = await authorization_request.begin_sign_in(ctx, request)
    return Redirect(redirect.url, authorization_redirect(ctx, redirect, None).headers)


def _request(ctx: Context, provider_id: str) -> AuthorizationRequest:
    view = views.view(ctx)
    return AuthorizationRequest(
        provider_id=provider_id,
        scopes=(),
        # That page asks for the second factor if one is pending, and otherwise redirects to the next page.
        callback_url=view.url("/two-factor"),
        error_callback_url=view.url("/error"),
        replaces_session=True,
    )


# pages.show_error
async def show_error(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    error: str | None = None,
    error_description: str | None = None,
) -> Page:
    """Show why a sign-in through a provider or an application failed; `error` is the error code."""
    view = views.view(ctx, "/error", callback_url, ui_locales, error=error)
    values = texts.provider_error(view.localization, error, error_description)
    return view.render(
        "provider_error.html",
        with_links=True,
        is_confirmation=error == "user_mismatch",
        addresses=None,
        **values,
    )
