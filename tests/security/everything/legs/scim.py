"""Directories: their tokens, users and groups."""

from collections.abc import Iterator

from domain.scim.directories import FEWEST_GUARDED
from tests.scim import GROUP, PATCH, USER
from tests.security.everything.traveller import FIRST, UNKNOWN, Traveller
from tests.sso import connection

SETTINGS = {"scim.enabled": "true", "organizations.enabled": "true", "organizations.teams.enabled": "true"}


def leg(ada: Traveller) -> Iterator[None]:
    """As an administrator, and as the directories of two connections."""
    call = ada.witness.call
    person = {"name": "Tess", "email": "tess@example.com", "password": FIRST}
    session = call("authentication.sign_up_email", person).token
    ada.promote("tess@example.com")
    yield
    made = call("organizations.create", {"name": "Umbrella", "slug": "umbrella"}, session=session).body
    wanted = connection("umbrella", domain="umbrella.example", organizationId=made.get("id"))
    call("sso.register", wanted, session=session)
    yield
    tokens = {}
    for provider_id in ("configured", "umbrella"):
        body = {"providerId": provider_id, "name": "directory"}
        created = call("scim.create_token", body, session=session).body
        tokens[provider_id] = created.get("secret", UNKNOWN)
        query = {"providerId": provider_id}
        call("scim.list_tokens", session=session, query=query)
        call("scim.get_directory", session=session, query=query)
    yield
    users, groups = tokens["configured"], tokens["umbrella"]
    for operation in ("get_configuration", "list_resource_types", "list_schemas"):
        call(f"scim.{operation}", session=users)
    call("scim.get_resource_type", session=users, id="User")
    call("scim.get_schema", session=users, id=USER)
    call("scim.list_users", session=UNKNOWN)
    yield
    yield from _users(ada, users, session)
    staff = call("scim.create_group", {"schemas": [GROUP], "displayName": "Staff"}, session=groups)
    staff_id = staff.body.get("id", UNKNOWN)
    call("scim.list_groups", session=groups)
    call("scim.get_group", session=groups, id=staff_id)
    call("scim.replace_group", {"schemas": [GROUP], "displayName": "All"}, session=groups, id=staff_id)
    renaming = {"schemas": [PATCH], "Operations": [{"op": "replace", "value": {"displayName": "Some"}}]}
    call("scim.patch_group", renaming, session=groups, id=staff_id)
    call("scim.delete_group", session=groups, id=staff_id)
    yield
    listed = call("scim.list_tokens", session=session, query={"providerId": "umbrella"}).body
    token_id = listed[0]["id"] if isinstance(listed, list) else UNKNOWN
    call("scim.revoke_token", {"providerId": "umbrella", "tokenId": token_id}, session=session)
    call("scim.list_groups", session=groups)
    yield


def _users(ada: Traveller, users: str, session: str) -> Iterator[None]:
    """Create users, disable more than half of them, and resume the directory."""
    call = ada.witness.call
    ids = []
    for number in range(FEWEST_GUARDED):
        sent = {"schemas": [USER], "userName": f"u{number}@configured.example", "externalId": str(number)}
        ids.append(call("scim.create_user", sent, session=users).body.get("id", UNKNOWN))
    call("scim.create_user", {"schemas": [USER], "userName": "u@elsewhere.example"}, session=users)
    call("scim.list_users", session=users, query={"filter": 'userName eq "u1@configured.example"'})
    call("scim.get_user", session=users, id=ids[0])
    replaced = {"schemas": [USER], "userName": "v0@configured.example", "displayName": "V"}
    call("scim.replace_user", replaced, session=users, id=ids[0])
    yield
    disabling = {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "active", "value": False}]}
    for id_ in ids[: FEWEST_GUARDED // 2 + 1]:
        call("scim.patch_user", disabling, session=users, id=id_)
    enabling = {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "active", "value": True}]}
    call("scim.patch_user", enabling, session=users, id=ids[0])
    call("scim.confirm", {"providerId": "configured"}, session=session)
    call("scim.delete_user", session=users, id=ids[-1])
    yield
