"""The operations of openapi/paths/organization_pages.yaml: pages of invitations and of the user's organizations."""

from handlers.organization_pages.invitation import accept_invitation, reject_invitation, show_invitation
from handlers.organization_pages.invitations import cancel_invitation, invite_member, resend_invitation
from handlers.organization_pages.members import (
    change_member_role,
    remove_member,
    show_member,
    show_member_removal,
)
from handlers.organization_pages.organization import (
    delete_organization,
    leave_organization,
    show_leaving,
    show_organization,
    show_organization_deletion,
    show_organization_form,
    update_organization,
)
from handlers.organization_pages.overview import (
    create_organization,
    set_active_organization,
    show_organizations,
)
from handlers.organization_pages.teams import (
    add_team_member,
    create_team,
    remove_team,
    remove_team_member,
    rename_team,
    show_team,
    show_team_removal,
)

__all__ = [
    "accept_invitation",
    "add_team_member",
    "cancel_invitation",
    "change_member_role",
    "create_organization",
    "create_team",
    "delete_organization",
    "invite_member",
    "leave_organization",
    "reject_invitation",
    "remove_member",
    "remove_team",
    "remove_team_member",
    "rename_team",
    "resend_invitation",
    "set_active_organization",
    "show_invitation",
    "show_leaving",
    "show_member",
    "show_member_removal",
    "show_organization",
    "show_organization_deletion",
    "show_organization_form",
    "show_organizations",
    "show_team",
    "show_team_removal",
    "update_organization",
]
