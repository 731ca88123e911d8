"""Errors of organizations, members, invitations and teams."""

from domain.errors import BadRequest, Conflict, Forbidden, NotFound


class NoActiveOrganization(BadRequest):
    """No organization is named, and the session has no active one."""

    message = "No active organization"


class OrganizationNotFound(BadRequest):
    """No organization is named and none is active, or there is no such organization."""

    message = "Organization not found"


class MemberNotFound(BadRequest):
    """The caller is not a member of the organization, or the named member does not exist there."""

    message = "Member not found"


class UserIsNotAMemberOfTheOrganization(BadRequest):
    """The user is not a member of the organization, or there is no such organization."""

    code = "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"
    message = "User is not a member of the organization"


class UserIsNotAMemberOfTheOrganizationForbidden(Forbidden):
    """The user is not a member of the organization, or there is no such organization."""

    code = "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"
    message = "User is not a member of the organization"


class YouAreNotAMemberOfThisOrganization(Forbidden):
    """The caller is not a member of the organization, or there is no such organization."""

    code = "YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION"
    message = "You are not a member of this organization"


class InvitationNotFound(BadRequest):
    """There is no such invitation, or it was answered, canceled or has expired."""

    message = "Invitation not found"


class YouAreNotAllowedToCreateANewOrganization(Forbidden):
    """The caller may not create organizations: the setting leaves this to administrators of the service."""

    code = "YOU_ARE_NOT_ALLOWED_TO_CREATE_A_NEW_ORGANIZATION"
    message = "You are not allowed to create a new organization"


class YouHaveReachedTheMaximumNumberOfOrganizations(Forbidden):
    """The user is a member of as many organizations as allowed."""

    message = "You have reached the maximum number of organizations"


class OrganizationAlreadyExists(BadRequest):
    """Another organization has this slug."""

    message = "Organization already exists"


class OrganizationSlugAlreadyTaken(BadRequest):
    """Another organization has this slug."""

    message = "Organization slug already taken"


class YouAreNotAllowedToUpdateThisOrganization(Forbidden):
    """The caller lacks the permission `organization: update`."""

    message = "You are not allowed to update this organization"


class YouAreNotAllowedToDeleteThisOrganization(Forbidden):
    """The caller lacks the permission `organization: delete`."""

    message = "You are not allowed to delete this organization"


class OrganizationDeletionDisabled(NotFound):
    """The deletion of organizations is disabled by the settings."""

    message = "Organization deletion is disabled"


class YouAreNotAllowedToUpdateThisMember(Forbidden):
    """The caller lacks the permission `member: update`, or a permission of the old or new role."""

    message = "You are not allowed to update this member"


class RoleNotFound(BadRequest):
    """A role does not exist, or no role or too many are given."""

    message = "Role not found"


class YouCannotLeaveTheOrganizationWithoutAnOwner(BadRequest):
    """The member is the only owner."""

    message = "You cannot leave the organization without an owner"


class YouCannotLeaveTheOrganizationAsTheOnlyOwner(BadRequest):
    """The user is the only owner of an organization."""

    message = "You cannot leave the organization as the only owner"


class YouAreNotAllowedToDeleteThisMember(Forbidden):
    """The caller lacks the permission `member: delete`, or the member has permissions that the caller lacks."""

    message = "You are not allowed to delete this member"


class YouAreNotAllowedToInviteUsersToThisOrganization(Forbidden):
    """The caller lacks the permission to invite or add members."""

    message = "You are not allowed to invite users to this organization"


class UserIsAlreadyAMemberOfThisOrganization(BadRequest):
    """The user is already a member."""

    code = "USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION"
    message = "User is already a member of this organization"


class UserIsDisabledByTheDirectory(Forbidden):
    """A directory of the organization has disabled the user, and only it can enable them."""

    message = "The directory of the organization has disabled this user"


class OrganizationMembershipLimitReached(Forbidden):
    """The organization has as many members as allowed."""

    message = "Organization membership limit reached"


class YouAreNotAllowedToInviteUserWithThisRole(Forbidden):
    """The role has permissions that the caller lacks."""

    message = "You are not allowed to invite a user with this role"


class UserIsAlreadyInvitedToThisOrganization(BadRequest):
    """This address already has a pending invitation to the organization."""

    message = "User is already invited to this organization"


class InvitationLimitReached(Forbidden):
    """The organization has as many pending invitations as allowed."""

    message = "Invitation limit reached"


class YouAreNotTheRecipientOfTheInvitation(Forbidden):
    """The invitation is for another email address."""

    message = "You are not the recipient of the invitation"


class EmailVerificationRequiredForInvitation(Forbidden):
    """The email address of the caller is unverified."""

    message = "Email verification required to view or list invitations for the session email"


class EmailVerificationRequiredBeforeAcceptingOrRejectingInvitation(Forbidden):
    """The email address of the caller is unverified, and the invitation was not opened by its link."""

    message = "Email verification required before accepting or rejecting invitation"


class YouAreNotAllowedToCancelThisInvitation(Forbidden):
    """The caller lacks the permission `invitation: cancel`, or the invitation is for an owner."""

    message = "You are not allowed to cancel this invitation"


class YouAreNotAllowedToListInvitations(Forbidden):
    """The caller lacks the permission `invitation: create`."""

    message = "You are not allowed to list invitations for this organization"


class TeamNotFound(BadRequest):
    """The organization has no such team."""

    message = "Team not found"


class TeamMemberLimitReached(Forbidden):
    """The team has as many members as allowed."""

    message = "Team member limit reached"


class YouAreNotAllowedToCreateTeamsInThisOrganization(Forbidden):
    """The caller is not a member, or lacks the permission `team: create`."""

    message = "You are not allowed to create teams in this organization"


class YouHaveReachedTheMaximumNumberOfTeams(BadRequest):
    """The organization has as many teams as allowed."""

    message = "You have reached the maximum number of teams"


class YouAreNotAllowedToUpdateThisTeam(Forbidden):
    """The caller is not a member, or lacks the permission `team: update`."""

    message = "You are not allowed to update this team"


class YouAreNotAllowedToDeleteTeamsInThisOrganization(Forbidden):
    """The caller is not a member, or lacks the permission `team: delete`."""

    message = "You are not allowed to delete teams in this organization"


class TeamIsManagedByADirectory(Forbidden):
    """A directory (SCIM) manages the team, so its name and members can only be changed there."""

    message = "This team is managed by a directory"


class UnableToRemoveLastTeam(BadRequest):
    """The team is the last one of the organization, and the settings do not allow its removal."""

    message = "Unable to remove last team"


class YouAreNotAllowedToAccessThisOrganization(Forbidden):
    """The caller is not a member of the organization, or there is no such organization."""

    message = "You are not allowed to access this organization as an owner"


class UserIsNotAMemberOfTheTeam(BadRequest):
    """The user is not a member of the team."""

    code = "USER_IS_NOT_A_MEMBER_OF_THE_TEAM"
    message = "User is not a member of the team"


class UserIsNotAMemberOfTheTeamForbidden(Forbidden):
    """The user is not a member of the team."""

    code = "USER_IS_NOT_A_MEMBER_OF_THE_TEAM"
    message = "User is not a member of the team"


class YouDoNotHaveAnActiveTeam(BadRequest):
    """No team is named, and the session has no active one."""

    message = "You do not have an active team"


class YouAreNotAllowedToCreateANewTeamMember(Forbidden):
    """The caller is not a member, or lacks the permission `member: update`."""

    code = "YOU_ARE_NOT_ALLOWED_TO_CREATE_A_NEW_TEAM_MEMBER"
    message = "You are not allowed to create a new member"


class YouAreNotAllowedToRemoveATeamMember(Forbidden):
    """The caller is not a member, or lacks the permission `member: delete`."""

    code = "YOU_ARE_NOT_ALLOWED_TO_REMOVE_A_TEAM_MEMBER"
    message = "You are not allowed to remove a team member"


class StaleOrganization(Conflict):
    """The organization, member or team was changed after the form was shown."""

    message = "The organization was changed meanwhile"
