"""The emails about organizations."""

from dataclasses import dataclass
from datetime import timedelta

from domain.context import Context
from domain.mail.formats import NAME, TEXT
from domain.mail.messages import Recipient, notify, queue_mail
from domain.mail.templates import MailTemplate, Variable
from domain.organizations.policy import ID, OrganizationPolicy
from models.organization import OrganizationRow
from models.user import UserRow

_ORGANIZATION = Variable("organization", NAME, "the name of the organization", "Acme")
_EXAMPLE_LINK = "https://auth.example.com/account/invitation/inv_Rq7Wn2Xv9Lk4Bt8Zc1Mf5Hy3Jd6Gp0Sa"

ORGANIZATION_INVITATION = MailTemplate(
    "organization-invitation",
    "an address is invited to an organization",
    (
        _ORGANIZATION,
        Variable("inviter", NAME, "the name of the inviter; may be empty", "Ada Lovelace"),
        Variable("inviter_email", TEXT, "the email address of the inviter", "ada@example.com"),
        Variable("link", TEXT, "the link", _EXAMPLE_LINK),
    ),
)
ORGANIZATION_REMOVED = MailTemplate(
    "organization-removed", "a notice: the user was removed from an organization", (_ORGANIZATION,)
)
ORGANIZATION_ROLE_CHANGED = MailTemplate(
    "organization-role-changed",
    "a notice: the user became an owner of an organization, or is no longer one",
    (
        _ORGANIZATION,
        Variable("owner", TEXT, "`yes` if the user is an owner now; else empty", "yes"),
    ),
)


@dataclass(frozen=True, slots=True)
class _Invitee:
    """The recipient of an invitation. Whether the address has a user is not looked up."""

    email: str
    locale: str | None
    id: str | None = None
    name: str = ""
    email_verified: bool = False


def invitation(
    ctx: Context, inviter: UserRow, organization: OrganizationRow, email: str, secret: str, lasts: timedelta
) -> None:
    """Queue the email with the link of an invitation, in the inviter's language. The link is valid for `lasts`."""
    queue_mail(
        ctx,
        ORGANIZATION_INVITATION,
        _Invitee(email, inviter.locale),
        expires_in=lasts,  # defence: ORG26 lasts
        organization=organization.name,
        inviter=inviter.name,
        inviter_email=inviter.email,
        link=ctx.policy[OrganizationPolicy].invitation_url.replace(ID, secret),
    )


async def member_removed(ctx: Context, user: Recipient, organization: OrganizationRow) -> None:
    """Queue a notice to a user that they were removed from an organization."""
    await notify(ctx, ORGANIZATION_REMOVED, user, organization=organization.name)


async def role_changed(
    ctx: Context, user: Recipient, organization: OrganizationRow, *, is_owner: bool
) -> None:
    """Queue a notice to a user that they became an owner of an organization, or are no longer one."""
    await notify(
        ctx,
        ORGANIZATION_ROLE_CHANGED,
        user,
        organization=organization.name,
        owner="yes" if is_owner else None,
    )
