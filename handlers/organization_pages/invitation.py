"""The page that an emailed invitation links to, where the user accepts or rejects the invitation."""

from urllib.parse import quote

from domain import urls
from domain.context import Context
from domain.organizations import invitation_answers
from domain.organizations.errors import InvitationNotFound, UserIsAlreadyAMemberOfThisOrganization
from domain.pages.policy import PagesPolicy
from handlers import shapes
from handlers.organization_pages import layout
from handlers.pages import sign_in_methods
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect


# organization_pages.show_invitation
async def show_invitation(
    ctx: Context,
    id_: str,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    reason: str | None = None,
) -> Page:
    """Show an invitation, and ask the user to answer it, or to sign in first."""
    path = _path_of(id_)
    view = views.view(ctx, path, callback_url, ui_locales, reason=reason)
    state, found = await invitation_answers.peek(ctx, id_)
    here = view.url(path)
    offered = sign_in_methods.offered(ctx)
    # The address stands only in a link for who holds the secret of the invitation.
    email = None if found is None else found.invitation.invitation.email
    return view.render(
        "organization_invitation.html",
        state=state.value,
        reason=reason,
        found=found,
        role=None if found is None else layout.role_name(view.localization, found.invitation.invitation.role),
        answer=path,
        here=here,
        sign_in=urls.with_parameters(view.action("/sign-in"), callbackURL=here, ui_locales=view.ui_locales),
        sign_up=urls.with_parameters(
            view.action("/sign-up"), callbackURL=here, ui_locales=view.ui_locales, email=email
        )
        if offered["can_sign_up"]
        else None,
        home=view.finish().location if view.callback_url or ctx.policy[PagesPolicy].home_url else None,
    )


# organization_pages.accept_invitation
async def accept_invitation(ctx: Context, id_: str, body: shapes.AccountForm) -> Redirect:
    """Accept an invitation, and redirect to its page, which links to the next step."""
    view = views.view(ctx)
    try:
        await invitation_answers.accept(ctx, id_)
    # A form that is sent twice has reached its goal already; the page shows what became of the invitation.
    except (InvitationNotFound, UserIsAlreadyAMemberOfThisOrganization):
        return view.redirect(_path_of(id_), reason="accepted")
    return view.redirect(_path_of(id_), reason="accepted")


# organization_pages.reject_invitation
async def reject_invitation(ctx: Context, id_: str, body: shapes.AccountForm) -> Redirect:
    """Reject an invitation, and redirect to its page."""
    view = views.view(ctx)
    try:
        await invitation_answers.reject(ctx, id_)
    except InvitationNotFound:
        return view.redirect(_path_of(id_), reason="rejected")
    return view.redirect(_path_of(id_), reason="rejected")


def _path_of(id_or_secret: str) -> str:
    return f"/invitation/{quote(id_or_secret, safe='')}"
