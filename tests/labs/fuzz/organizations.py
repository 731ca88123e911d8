"""The steps of organizations: create and delete them, invite, accept, change roles, remove, leave, make one active."""

from hypothesis import strategies as st

from tests.handlers.organization_steps import MAIL, broken
from tests.handlers.steps import token_in
from tests.labs.fuzz.accounts import Accounts
from tests.labs.fuzz.base import Mails, addresses, flags, pick, step, which
from tests.labs.fuzz.model import INVITATION, Invitation, Organization, Role, Session, User

NO_MEMBER = "400 MEMBER_NOT_FOUND"
NOT_A_MEMBER = "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"
GONE = "400 INVITATION_NOT_FOUND"
ONLY_OWNER = "400 YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER"
WITHOUT_OWNER = "400 YOU_CANNOT_LEAVE_THE_ORGANIZATION_WITHOUT_AN_OWNER"
MAY_NOT_INVITE = "403 YOU_ARE_NOT_ALLOWED_TO_INVITE_USERS_TO_THIS_ORGANIZATION"
MAY_NOT_GRANT = "403 YOU_ARE_NOT_ALLOWED_TO_INVITE_USER_WITH_THIS_ROLE"
MAY_NOT_REMOVE = "403 YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_MEMBER"
MAY_NOT_UPDATE = "403 YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_MEMBER"
MAY_NOT_CANCEL = "403 YOU_ARE_NOT_ALLOWED_TO_CANCEL_THIS_INVITATION"
UNVERIFIED = "403 EMAIL_VERIFICATION_REQUIRED_BEFORE_ACCEPTING_OR_REJECTING_INVITATION"

LEGAL = "an accepted invitation without its member, or a pending one with it"
"""What may be found in the tables: a member moves to an address that is invited."""

slugs = st.sampled_from(("acme", "beta", "gamma"))
granted = st.sampled_from((Role.MEMBER, Role.MEMBER, Role.ADMIN, Role.OWNER))


class Organizations(Accounts):
    """What a user does with organizations."""

    def an_organization(self, number: int) -> Organization:
        """Choose an organization."""
        known = self.model.organizations
        return pick([one for one in known if not one.gone], [one for one in known if one.gone], number)

    def a_member(self, organization: Organization, number: int) -> User:
        """Choose a member, or for the highest numbers any user."""
        members = [user for user in organization.members if not user.gone]
        return pick(members, self.model.users, number)

    def a_caller(self, organization: Organization, number: int) -> Session:
        """Choose a session: below 12 that of a member if there is one, otherwise any."""
        live = [one for one in self.model.working(Session, self.now) if organization.role_of(one.user)]
        return live[-1 - number % len(live)] if live and number < 12 else self.a(Session, number)

    @step(2, number=which, slug=slugs)
    def create_organization(self, number: int, slug: str) -> None:
        """Create an organization, unless the slug is taken."""
        session = self.a(Session, number)
        is_taken = any(one.slug == slug and not one.gone for one in self.model.organizations)
        expected = "400 ORGANIZATION_ALREADY_EXISTS" if is_taken else "200"
        told = self.act(session, "/organization/create", {"name": slug, "slug": slug.upper()}, expected)
        if told is None:
            return
        made = told.json()
        organization = Organization(made["id"], slug, {session.user: Role.OWNER})
        organization.ids[session.user] = made["members"][0]["id"]
        self.model.organizations.append(organization)
        session.active = organization

    @step(1, number=which, where=which)
    def delete_organization(self, number: int, where: int) -> None:
        """Delete an organization, as its owner or not."""
        organization = self.an_organization(where)
        session = self.a_caller(organization, number)
        expected = "200"
        match organization.role_of(session.user):
            case None:
                expected = f"400 {NOT_A_MEMBER}"
            case Role.MEMBER | Role.ADMIN:
                expected = "403 YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_ORGANIZATION"
        body = {"organizationId": organization.id}
        if self.act(session, "/organization/delete", body, expected) is not None:
            self.model.delete_organization(organization)

    @step(5, number=which, where=which, whom=st.one_of(addresses, which), role=granted, resend=flags)
    def invite(self, number: int, where: int, whom: str | int, role: Role, resend: bool) -> None:
        """Invite an address, most often that of a user, or send its invitation again with another link."""
        email = whom if isinstance(whom, str) else self.somebody(whom).email
        organization = self.an_organization(where)
        session = self.a_caller(organization, number)
        own, invitee = organization.role_of(session.user), self.model.owner(email)
        former = next((one for one in self.open_invitations(organization) if one.email == email), None)
        if own is None:
            expected = NO_MEMBER
        elif own == Role.MEMBER:
            expected = MAY_NOT_INVITE
        elif role > own:
            expected = MAY_NOT_GRANT
        elif invitee is not None and organization.role_of(invitee) is not None:
            expected = "400 USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION"
        elif former is not None and not resend:
            expected = "400 USER_IS_ALREADY_INVITED_TO_THIS_ORGANIZATION"
        else:
            expected = MAY_NOT_GRANT if former is not None and former.role > own else "200"
        body = {
            "organizationId": organization.id,
            "email": email.upper(),
            "role": role.name.lower(),
            "resend": resend,
        }
        told = self.act(session, "/organization/invite-member", body, expected, [(MAIL, email)])
        if told is None:
            return
        secret, expires = token_in(self.letters[-1]["link"]), self.now + INVITATION
        if former is not None:
            former.secret, former.expires = secret, expires
            return
        made = told.json()["id"]
        self.model.add(Invitation(made, session.user, expires, False, secret, email, role, organization))

    def open_invitations(self, organization: Organization) -> list[Invitation]:
        """Return the invitations of an organization that can be answered."""
        return [one for one in self.model.working(Invitation, self.now) if one.organization is organization]

    @step(5, number=which, by=which, is_recipient=st.sampled_from((True, True, True, False)), by_link=flags)
    def accept(self, number: int, by: int, is_recipient: bool, by_link: bool) -> None:
        """Accept an invitation, by its link or its id, as the invited user or another."""
        if not self.model.all(Invitation):
            return
        invitation, session = self.a(Invitation, number), self.a(Session, by)
        own = [one for one in self.model.working(Session, self.now) if one.user.email == invitation.email]
        if is_recipient and own:
            session = own[-1 - by % len(own)]
        organization, user = invitation.organization, session.user
        expected = self.verdict_on(invitation, user, by_link=by_link)
        if expected == "200" and organization.role_of(user) is not None:
            expected = "400 USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION"
        body = {"invitationId": invitation.secret if by_link else invitation.token}
        told = self.act(session, "/organization/accept-invitation", body, expected)
        if told is not None:
            invitation.ended = True
            organization.members[user] = invitation.role
            organization.ids[user] = told.json()["member"]["id"]
            session.active = organization

    def verdict_on(self, invitation: Invitation, user: User, *, by_link: bool) -> str:
        """Return what an invitation must answer to a user."""
        if not invitation.works(self.now):
            return GONE
        if user.email != invitation.email:
            return "403 YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION"
        return "200" if by_link or user.verified else UNVERIFIED

    @step(1, number=which, by=which)
    def reject(self, number: int, by: int) -> None:
        """Reject an invitation by its link."""
        if not self.model.all(Invitation):
            return
        invitation, session = self.a(Invitation, number), self.a(Session, by)
        expected = self.verdict_on(invitation, session.user, by_link=True)
        body = {"invitationId": invitation.secret}
        if self.act(session, "/organization/reject-invitation", body, expected) is not None:
            invitation.ended = True

    @step(1, number=which, by=which)
    def cancel(self, number: int, by: int) -> None:
        """Cancel an invitation."""
        if not self.model.all(Invitation):
            return
        invitation = self.a(Invitation, number)
        session = self.a_caller(invitation.organization, by)
        own, expected = invitation.organization.role_of(session.user), "200"
        if not invitation.works(self.now) or own is None:
            expected = GONE
        elif own == Role.MEMBER or invitation.role == Role.OWNER > own:
            expected = MAY_NOT_CANCEL
        body = {"invitationId": invitation.token}
        if self.act(session, "/organization/cancel-invitation", body, expected) is not None:
            invitation.ended = True

    @step(3, number=which, where=which, whom=which)
    def remove(self, number: int, where: int, whom: int) -> None:
        """Remove a member."""
        organization = self.an_organization(where)
        session = self.a_caller(organization, number)
        own, target = organization.role_of(session.user), self.a_member(organization, whom)
        role = None if target.gone else organization.role_of(target)
        if own is None:
            expected = NO_MEMBER
        elif own == Role.MEMBER:
            expected = MAY_NOT_REMOVE
        elif role is None:
            expected = NO_MEMBER
        elif role > own:
            expected = MAY_NOT_REMOVE
        else:
            expected = ONLY_OWNER if organization.is_only_owner(target) else "200"
        named = organization.ids.get(target, "m" * 32)
        body = {"organizationId": organization.id, "memberIdOrEmail": named}
        mails = [("organization-removed", target.email)]
        if self.act(session, "/organization/remove-member", body, expected, mails) is not None:
            self.model.end_membership(organization, target)

    @step(2, number=which, where=which)
    def leave(self, number: int, where: int) -> None:
        """Leave an organization."""
        organization = self.an_organization(where)
        session = self.a_caller(organization, number)
        expected = NO_MEMBER if organization.role_of(session.user) is None else "200"
        if organization.is_only_owner(session.user):
            expected = ONLY_OWNER
        body = {"organizationId": organization.id}
        if self.act(session, "/organization/leave", body, expected) is not None:
            self.model.end_membership(organization, session.user)

    @step(3, number=which, where=which, whom=which, role=granted)
    def change_role(self, number: int, where: int, whom: int, role: Role) -> None:
        """Change the role of a member."""
        organization = self.an_organization(where)
        session = self.a_caller(organization, number)
        own, target = organization.role_of(session.user), self.a_member(organization, whom)
        former = None if target.gone else organization.role_of(target)
        if own is None:
            expected = NO_MEMBER
        elif own == Role.MEMBER:
            expected = MAY_NOT_UPDATE
        elif former is None:
            expected = NO_MEMBER
        elif max(former, role) > own:
            expected = MAY_NOT_UPDATE
        elif organization.is_only_owner(target) and role != Role.OWNER:
            expected = WITHOUT_OWNER
        else:
            expected = "200"
        named = organization.ids.get(target, "m" * 32)
        body = {"organizationId": organization.id, "memberId": named, "role": [role.name.lower()]}
        is_news = former is not None and (former == Role.OWNER) != (role == Role.OWNER)
        mails: Mails = [("organization-role-changed", target.email)] if is_news else []
        if self.act(session, "/organization/update-member-role", body, expected, mails) is not None:
            organization.members[target] = role
            self.model.end_invitations(organization, target, above=role)

    @step(3, number=which, where=which, is_none=st.sampled_from((False, False, True)))
    def set_active(self, number: int, where: int, is_none: bool) -> None:
        """Make an organization the active one of a session, or none."""
        organization = self.an_organization(where)
        session = self.a_caller(organization, number)
        is_member = is_none or organization.role_of(session.user) is not None
        body = {"organizationId": None if is_none else organization.id}
        expected = "200" if is_member else f"403 {NOT_A_MEMBER}"
        if self.act(session, "/organization/set-active", body, expected) is not None:
            session.active = None if is_none else organization

    def look_inside(self) -> None:
        """Every organization has an owner, and nobody has one active without being a member."""
        super().look_inside()
        assert set(self.world.run(broken(self.world.service))) <= {LEGAL}
        for organization in self.model.organizations:
            assert organization.gone or Role.OWNER in organization.members.values()
        for session in self.model.working(Session, self.now):
            assert session.active is None or session.active.role_of(session.user) is not None
