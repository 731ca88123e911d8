"""Administration of all organizations."""

from collections.abc import Iterator

from tests.security.everything.traveller import FIRST, UNKNOWN, Traveller

SETTINGS = {"organizations.enabled": "true", "organizations.teams.enabled": "true"}


def leg(ada: Traveller) -> Iterator[None]:
    """As an administrator, who changes an organization of another user; without one, as nobody special."""
    call = ada.witness.call
    ken, dot = [
        call(
            "authentication.sign_up_email", {"name": name, "email": f"{name}@example.com", "password": FIRST}
        )
        for name in ("ken", "dot")
    ]
    ada.promote("ken@example.com")
    admin, owner = ken.token, dot.token
    yield
    made = call("organizations.create", {"name": "Hooli", "slug": "hooli"}, session=owner)
    of = {"organizationId": made.body["id"]}
    invited = call(
        "organizations.invite_member", {**of, "email": "mel@example.com", "role": "member"}, session=owner
    )
    yield
    call("admin_organizations.list_all", session=admin, query={"search": "hooli"})
    call("admin_organizations.export", session=admin, query={"search": "hooli"})
    call("admin_organizations.get", session=admin, query=of)
    call("admin_organizations.list_members", session=admin, query=of)
    call("admin_organizations.list_events", session=admin, query=of)
    yield
    # Another owner, so that the first one can go.
    second = {"userId": ken.body["user"]["id"], "role": "owner"}
    call("organizations.add_member", {**of, **second}, session=admin)
    invitation, member = invited.body["id"], made.body["members"][0]["id"]
    call("admin_organizations.update", {**of, "data": {"name": "Hooli XYZ"}}, session=admin)
    for each in (invitation, UNKNOWN):
        call("admin_organizations.cancel_invitation", {**of, "invitationId": each}, session=admin)
    for each in (member, UNKNOWN):
        call("admin_organizations.set_member_role", {**of, "memberId": each, "role": "admin"}, session=admin)
        call("admin_organizations.remove_member", {**of, "memberId": each}, session=admin)
    call("admin_organizations.delete", of, session=admin)
    yield
