"""Organizations and their teams."""

from collections.abc import Iterator

from tests.security.everything.traveller import FIRST, UNKNOWN, Traveller
from tests.settings import organizations

SETTINGS = organizations.SETTINGS
MAIL = "organization-invitation"


def leg(ada: Traveller) -> Iterator[None]:
    """As the owner of an organization, and as a guest who is invited by email."""
    call = ada.witness.call
    owner, guest = [
        call(
            "authentication.sign_up_email", {"name": name, "email": f"{name}@example.com", "password": FIRST}
        )
        for name in ("olga", "boris")
    ]
    session, user = owner.token, {"userId": str(guest.body["user"]["id"])}
    call("organizations.check_slug", {"slug": "acme"}, session=session)
    acme = call("organizations.create", {"name": "Acme", "slug": "acme"}, session=session).body
    named = {"organizationId": str(acme["id"])}
    yield
    invited = {"email": "boris@example.com", "role": "member"}
    sent = call("organizations.invite_member", invited, session=session).body
    secrets = [ada.witness.token_in(MAIL)]
    call("organizations.invite_member", {**invited, "resend": True}, session=session)
    secrets.append(ada.witness.token_in(MAIL))
    yield
    call("organizations.get_full", session=session)
    call("organizations.list_invitations", session=session)
    for token in (session, guest.token, ada.session):
        call("organizations.list_user_invitations", session=token)
        for key in (*secrets, sent["id"], UNKNOWN):
            call("organizations.get_invitation", session=token, query={"id": key})
            call("organizations.reject_invitation", {"invitationId": key}, session=session)
    for key in (*secrets, secrets[1]):
        joined = call("organizations.accept_invitation", {"invitationId": key}, session=guest.token)
    yield
    call("organizations.leave", named, session=guest.token)
    call("organizations.invite_member", invited, session=session)
    call("organizations.reject_invitation", {"invitationId": ada.witness.token_in(MAIL)}, session=guest.token)
    again = call("organizations.invite_member", invited, session=session).body
    ada.witness.token_in(MAIL)
    call("organizations.cancel_invitation", {"invitationId": again["id"]}, session=session)
    call("organizations.invite_member", invited, session=session)
    joined = call(
        "organizations.accept_invitation", {"invitationId": ada.witness.token_in(MAIL)}, session=guest.token
    )
    member = {"memberId": str(joined.body["member"]["id"])}
    yield
    yield from _teams(ada, session, named, user)
    for operation in ("list_own", "get", "list_members", "get_active_member", "get_active_member_role"):
        call(f"organizations.{operation}", session=session)
    call("organizations.set_active", named, session=session)
    call("organizations.has_permission", {"permissions": {"member": ["create"]}}, session=session)
    call("organizations.update", {"data": {"name": "Acme & Co"}}, session=session)
    call("organizations.update_member_role", {**member, "role": "owner"}, session=session)
    call("organizations.update_member_role", {**member, "role": "admin"}, session=session)
    yield
    call("organizations.remove_member", {"memberIdOrEmail": member["memberId"]}, session=session)
    ada.promote("olga@example.com")
    call("organizations.add_member", {**user, "role": "member"}, session=session)
    yield
    call("organizations.delete", named, session=guest.token)
    call("organizations.delete", named, session=session)
    yield


def _teams(ada: Traveller, session: str, named: dict[str, str], user: dict[str, str]) -> Iterator[None]:
    call = ada.witness.call
    team = {"teamId": str(call("teams.create", {"name": "Sales"}, session=session).body["id"])}
    call("teams.update", {**team, "data": {**named, "name": "Support"}}, session=session)
    for operation in ("add_member", "add_member", "remove_member", "add_member"):
        call(f"teams.{operation}", {**team, **user}, session=session)
    yield
    call("teams.list_all", session=session)
    own = call("teams.list_of_user", session=session).body[0]
    call("teams.list_members", session=session, query=team)
    for each in (team["teamId"], own["id"]):
        call("teams.set_active", {"teamId": each}, session=session)
    call("teams.remove", team, session=session)
    yield
