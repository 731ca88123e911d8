"""The forms on the page of an organization that create, resend and cancel invitations."""

from domain import identifiers
from domain.context import Context
from domain.organizations import forms, invitations
from domain.organizations.errors import InvitationNotFound, MemberNotFound, YouAreNotAMemberOfThisOrganization
from handlers import shapes
from handlers.organization_pages import layout
from handlers.pages import view as views
from handlers.responses.reply import Redirect


# organization_pages.invite_member
async def invite_member(ctx: Context, id_: str, body: shapes.OrganizationInvitationForm) -> Redirect:
    """Invite the owner of an email address to an organization."""
    view = views.view(ctx)
    try:
        await forms.invite(ctx, id_, body["email"].strip(), body["role"], body.get("team", ""))
    except MemberNotFound:
        return layout.gone(view)
    return view.redirect(layout.path_of(id_), reason="invited")


# organization_pages.resend_invitation
async def resend_invitation(ctx: Context, id_: str, body: shapes.PendingInvitationForm) -> Redirect:
    """Send a pending invitation again."""
    view = views.view(ctx)
    seen = identifiers.instant_or_none(body.get("version", ""))
    try:
        await forms.resend(ctx, id_, body["invitation"], seen=seen)
    except YouAreNotAMemberOfThisOrganization:
        return layout.gone(view)
    except InvitationNotFound:
        return view.redirect(layout.path_of(id_), reason="invitation-gone")
    return view.redirect(layout.path_of(id_), reason="resent")


# organization_pages.cancel_invitation
async def cancel_invitation(ctx: Context, id_: str, body: shapes.PendingInvitationForm) -> Redirect:
    """Cancel a pending invitation."""
    view = views.view(ctx)
    try:
        await invitations.cancel(ctx, body["invitation"])
    # A form that is sent twice, or from a stale page, has reached its goal already.
    except InvitationNotFound:
        return view.redirect(layout.path_of(id_), reason="invitation-gone")
    return view.redirect(layout.path_of(id_), reason="invitation-canceled")
