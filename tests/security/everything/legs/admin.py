"""Administration."""

from collections.abc import Iterator

from tests.authenticator import Authenticator
from tests.labs.provider.steps import as_user
from tests.security.everything.traveller import FIRST, SECOND, THIRD, UNKNOWN, Traveller


def leg(ada: Traveller) -> Iterator[None]:
    """As an administrator, who does everything to another user; without a way to promote one, as nobody special."""
    call = ada.witness.call
    root, grace = [
        call(
            "authentication.sign_up_email", {"name": name, "email": f"{name}@example.com", "password": FIRST}
        )
        for name in ("root", "grace")
    ]
    ada.promote("root@example.com")
    session, user = root.token, {"userId": str(grace.body["user"]["id"])}
    yield
    call("admin.list_users", session=session, query={"searchValue": "example"})
    call("admin.search_users", session=session, query={"search": "grace"})
    call("admin.get_user", session=session, query={"id": user["userId"]})
    listed = call("audit.list_events", session=session, query={"event": "user.created"})
    known = listed.body["events"][0]["id"] if listed.response.is_success else UNKNOWN
    for event in (known, UNKNOWN):
        call("audit.get_event", session=session, query={"id": event})
    call("audit.export_events", session=session, query={"group": "sign_in"})
    call("admin.export_users", session=session, query={"search": "example"})
    call("statistics.get", session=session)
    yield from _operations(ada, session)
    call("api_keys.list_all", session=session, query={"owner": "grace@example.com"})
    call("admin.has_permission", {"permissions": {"user": ["ban"]}}, session=session)
    new = {"name": "Mary", "email": "mary@example.com", "password": SECOND}
    call("admin.create_user", new, session=session)
    call("admin.update_user", {**user, "data": {"name": "Grace H."}}, session=session)
    yield
    as_user(ada.provider, "grace@example.com", "1009")
    direct = {"provider": "test", "idToken": {"token": ada.provider.mint()}}
    call("social.link", direct, session=grace.token)
    options = call("passkeys.begin_registration", session=grace.token).body
    call("passkeys.finish_registration", {"response": Authenticator().create(options)}, session=grace.token)
    yield
    which = {"id": user["userId"]}
    call("admin.send_password_reset", user, session=session)
    call("admin.export_user", session=session, query=which)
    ways = (
        ("unlink_user_account", "accounts", "accountId"),
        ("remove_user_passkey", "passkeys", "passkeyId"),
    )
    for operation, kind, field in ways:
        listed = call(f"admin.list_user_{kind}", session=session, query=which)
        rows = listed.body[kind] if listed.response.is_success else []
        for each in (UNKNOWN, *(row["id"] for row in rows if row.get("providerId") != "credential")):
            call(f"admin.{operation}", {**user, field: each}, session=session)
    grace = call("authentication.sign_in_email", {"email": "grace@example.com", "password": FIRST})
    yield
    acting = call("admin.impersonate_user", user, session=session)
    for token in (acting.body["session"]["token"], session) if acting.response.is_success else (session,):
        call("sessions.list_active", session=token)
        call("admin.stop_impersonating", session=token)
    call("admin.set_role", {**user, "role": "admin"}, session=session)
    for body in ({"sessionToken": UNKNOWN}, {"sessionToken": grace.token}):
        call("admin.list_user_sessions", user, session=session)
        call("admin.revoke_user_session", body, session=session)
    call("admin.set_user_password", {**user, "newPassword": THIRD}, session=session)
    yield
    for operation in ("reset_two_factor", "ban_user", "unban_user", "revoke_user_sessions", "remove_user"):
        call(f"admin.{operation}", user, session=session)
    yield


def _operations(ada: Traveller, session: str) -> Iterator[None]:
    call = ada.witness.call
    call("mail.list_messages", session=session)
    call("mail.send_again", {"mailId": UNKNOWN}, session=session)
    call("mail.give_up", {"mailId": UNKNOWN}, session=session)
    call("mail.list_templates", session=session)
    call("mail.preview", session=session, query={"template": "otp"})
    call("mail.send_preview", {"template": "otp"}, session=session)
    yield
    call("jwt.rotate_signing_key", {"algorithm": "ES256"}, session=session)
    keys = call("jwt.list_signing_keys", session=session)
    known = keys.body["keys"][0]["id"] if keys.response.is_success else UNKNOWN
    call("jwt.revoke_signing_key", {"keyId": known}, session=session)
    yield
    call("settings.list_all", session=session)
    call("instances.list_all", session=session)
    call("doctor.run", session=session)
