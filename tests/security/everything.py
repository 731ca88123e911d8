"""A journey through every operation of the contract, as one user after the other, right and wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx

from tests.authenticator import Authenticator
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.steps import as_user
from tests.live import PATIENCE
from tests.security.second_factor import PENDING, SESSION, TRUST, secret_in, set_cookies
from tests.security.witness import Answer, Witness, code_of
from tests.service import NO_TLS

ADA = "ada@example.com"
EVE = "eve@example.com"
FIRST, SECOND, THIRD, WRONG = (
    "seven red bicycles",
    "eight green bicycles",
    "nine blue bicycles",
    "a wrong bicycle",
)
UNKNOWN = "Q7" * 16
"""Of the form of a token, and none."""

SETTINGS = {
    "log.level": "debug",
    "mail.sender": "file",
    "mail.smtp.password": "the password of the mail server",
    "secrets": "a service key that nobody may ever read anywhere",
    "delete_user.confirm_by_mail": "true",
    "password.argon2_memory_kib": "19456",
    "password.argon2_time": "2",
    "two_factor.backup_code_count": "3",
    "magic_links.enabled": "true",
    "magic_links.page": "http://127.0.0.1/confirm",
    "trusted_origins": "http://127.0.0.1",
    "email_codes.enabled": "true",
    "api_keys.verifiers": "files:the-token-of-a-service-that-verifies-keys",
}
VERIFIER = SETTINGS["api_keys.verifiers"].partition(":")[2]
CONFIGURED = (SETTINGS["mail.smtp.password"], SETTINGS["secrets"], VERIFIER)

PROVIDER = "test"


@dataclass
class Traveller:
    """Who goes: the witness, the provider that knows them, and the session they have at the moment."""

    witness: Witness
    provider: ProviderProcess
    promote: Callable[[str], None]
    """Makes the user with an email address an administrator."""
    session: str = ""


def journey(
    witness: Witness, provider: ProviderProcess, promote: Callable[[str], None] = lambda email: None
) -> Iterator[None]:
    """Go through everything; stop after each leg, so that somebody may look into the database."""
    ada = Traveller(witness, provider, promote)
    for leg in LEGS:
        for _ in leg(ada):
            yield


def _arrive(ada: Traveller) -> Iterator[None]:
    call = ada.witness.call
    call(
        "authentication.sign_up_email",
        {"name": "Ada", "email": ADA, "password": FIRST, "username": "ada_l"},
    )
    yield
    call("emails.send_verification", {"email": ADA})
    yield
    call("emails.verify", query={"token": ada.witness.token_in("verify-email")})
    call("emails.verify", query={"token": UNKNOWN})
    call("authentication.sign_in_email", {"email": ADA, "password": WRONG})
    call("authentication.sign_in_username", {"username": "ada_l", "password": WRONG})
    call("authentication.sign_in_username", {"username": "ada_l", "password": FIRST})
    yield
    ada.session = call("authentication.sign_in_email", {"email": ADA, "password": FIRST}).token
    yield


def _look(ada: Traveller) -> Iterator[None]:
    call, session = ada.witness.call, ada.session
    call("sessions.get_current", cookies={SESSION: session})
    call("sessions.list_active", session=session)
    call("users.check_username", {"username": "grace"})
    call("users.update", {"name": "Countess"}, session=session)
    other = call("authentication.sign_in_email", {"email": ADA, "password": FIRST}).token
    call("sessions.revoke", {"token": other}, session=session)
    call("sessions.revoke", {"token": UNKNOWN}, session=session)
    yield
    call("sessions.revoke_others", session=session)
    call("authentication.sign_out", cookies={SESSION: session})
    call("sessions.get_current", session=session)
    ada.session = call("authentication.sign_in_email", {"email": ADA, "password": FIRST}).token
    call("sessions.revoke_all", session=ada.session)
    ada.session = call("authentication.sign_in_email", {"email": ADA, "password": FIRST}).token
    yield


def _passwords(ada: Traveller) -> Iterator[None]:
    call, session = ada.witness.call, ada.session
    call("passwords.verify", {"password": FIRST}, session=session)
    call("passwords.verify", {"password": WRONG}, session=session)
    changed = {"currentPassword": FIRST, "newPassword": SECOND, "revokeOtherSessions": True}
    call("passwords.change", changed, session=session)
    yield
    call("passwords.forget", {"email": ADA})
    ada.witness.token_in("reset-password")
    call("passwords.request_reset", {"email": ADA})
    token = ada.witness.token_in("reset-password")
    yield
    call("passwords.check_reset_token", token=token)
    call("passwords.check_reset_token", token=UNKNOWN)
    call("passwords.reset", {"token": UNKNOWN, "newPassword": THIRD})
    call("passwords.reset", {"token": token, "newPassword": THIRD})
    yield
    ada.session = call("authentication.sign_in_email", {"email": ADA, "password": THIRD}).token


def _address(ada: Traveller) -> Iterator[None]:
    call = ada.witness.call
    call("emails.change", {"newEmail": EVE}, session=ada.session)
    token = ada.witness.token_in("change-email")
    yield
    call("emails.verify", query={"token": token}, session=ada.session)
    yield


def _enrol(ada: Traveller) -> Iterator[None]:
    call, session, password = ada.witness.call, ada.session, {"password": THIRD}
    secret = secret_in(call("two_factor.enable", password, session=session).body["totpURI"])
    yield
    call("two_factor.verify_totp", {"code": code_of(secret)}, session=session)
    call("two_factor.get_totp_uri", password, session=session)
    call("two_factor.generate_backup_codes", password, session=session)
    yield


def _second_factor(ada: Traveller) -> Iterator[None]:
    call, password = ada.witness.call, {"password": THIRD}
    codes = call("two_factor.generate_backup_codes", password, session=ada.session).body["backupCodes"]
    pending = _pending(ada)
    call("two_factor.verify_backup_code", {"code": "aaaaa-aaaaa"}, session=pending)
    call("two_factor.send_otp", cookies={PENDING: pending})
    code = ada.witness.mail("otp")["code"]
    yield
    call("two_factor.verify_otp", {"code": code}, session=pending)
    yield
    entered = {"code": codes[0], "trustDevice": True}
    trusted = set_cookies(call("two_factor.verify_backup_code", entered, session=_pending(ada)).response)
    yield
    signing_in = {"email": EVE, "password": THIRD}
    call("authentication.sign_in_email", signing_in, cookies={TRUST: trusted[TRUST]})
    yield
    call("two_factor.disable", password, session=ada.session)
    yield


def _pending(ada: Traveller) -> str:
    return ada.witness.call("authentication.sign_in_email", {"email": EVE, "password": THIRD}).token


def _link(ada: Traveller) -> Iterator[None]:
    """Link an identity, and do with its tokens all that can be done."""
    call, session = ada.witness.call, ada.session
    as_user(ada.provider, EVE, "1003")
    begun = call("social.link", {"provider": PROVIDER, "callbackURL": "/welcome"}, session=session)
    yield
    _come_back(ada, begun)
    yield
    call("accounts.list_linked", session=session)
    for operation in ("get_access_token", "refresh_token", "get_access_token"):
        call(f"social.{operation}", {"providerId": PROVIDER}, session=session)
        yield
    call("social.get_profile", session=session, query={"providerId": PROVIDER})
    direct = {"provider": PROVIDER, "idToken": {"token": ada.provider.mint()}}
    call("social.link", direct, session=session)
    yield


def _come_through(ada: Traveller) -> Iterator[None]:
    """Sign in through a provider in every way, right and wrong."""
    call = ada.witness.call
    begun = _set_out(ada)
    yield
    answer = _come_back(ada, begun)
    yield
    _come_back(ada, begun)
    session = set_cookies(answer.response)[SESSION]
    call("social.get_access_token", {"providerId": PROVIDER}, session=session)
    yield
    session = set_cookies(_come_back(ada, _set_out(ada), by_form=True).response)[SESSION]
    call("social.get_access_token", {"providerId": PROVIDER}, session=session)
    for token in (ada.provider.mint(), ada.provider.mint(claims={"aud": "another"}), "e" * 40):
        call("social.sign_in", {"provider": PROVIDER, "idToken": {"token": token}})
        yield
    unknown = {"code": "a code of the provider", "state": UNKNOWN}
    call("social.receive_callback", query=unknown, provider=PROVIDER)
    call("social.relay_callback", unknown, provider=PROVIDER)


def _meet_trouble(ada: Traveller) -> Iterator[None]:
    """Make the provider fail where it is given secrets, and check that nobody writes them down."""
    call, session = ada.witness.call, ada.session
    for behaviour in (
        {"status": 500},
        {"json": {"error": "invalid_grant"}, "status": 400},
        {"raw": "garbage"},
    ):
        begun = _set_out(ada)
        ada.provider.control(misbehave={"token": behaviour})
        _come_back(ada, begun)
        call("social.refresh_token", {"providerId": PROVIDER}, session=session)
        ada.provider.control(misbehave={"token": {}})
        yield
    ada.provider.control(misbehave={"userinfo": {"status": 401}})
    _come_back(ada, _set_out(ada))
    call("social.get_profile", session=session, query={"providerId": PROVIDER})
    yield
    ada.provider.control(misbehave={"userinfo": {}})
    call("accounts.unlink", {"providerId": PROVIDER}, session=session)
    yield


def _set_out(ada: Traveller) -> Answer:
    wanted = {"provider": PROVIDER, "callbackURL": "/welcome"}
    return ada.witness.call("social.sign_in", wanted)


def _come_back(ada: Traveller, begun: Answer, *, by_form: bool = False) -> Answer:
    """Visit the provider's page, and come back in the browser that began; give the answer of the callback."""
    url = httpx.URL(begun.body["url"])
    visited = httpx.get(url, trust_env=False, verify=NO_TLS, timeout=PATIENCE)
    sent = dict(httpx.URL(visited.headers["location"]).params)
    ada.witness.secrets.setdefault(sent["code"], "code of the provider")
    if by_form:
        relayed = ada.witness.call("social.relay_callback", sent, provider=PROVIDER)
        sent = dict(httpx.URL(relayed.response.headers["location"]).params)
    cookies = set_cookies(begun.response)
    answer = ada.witness.call("social.receive_callback", query=sent, cookies=cookies, provider=PROVIDER)
    ada.witness.overhear(url, ada.provider)
    return answer


def _service(ada: Traveller) -> Iterator[None]:
    for operation in ("check_health", "check_readiness", "show_error"):
        ada.witness.call(f"service.{operation}")
    ada.witness.call("mailbox.list_mails")
    for operation in ("show_mail", "show_html"):
        for mail_id in (ada.witness.mail_ids()[-1], UNKNOWN):
            ada.witness.call(f"mailbox.{operation}", mailId=mail_id)
    yield


def _tokens(ada: Traveller) -> Iterator[None]:
    ada.witness.call("jwt.issue", session=ada.session)
    ada.witness.call("jwt.issue", session=ada.session, query={"audience": "https://evil.test"})
    for operation in ("keys", "well_known_keys"):
        ada.witness.call(f"jwt.{operation}")
    yield


def _administer(ada: Traveller) -> Iterator[None]:
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
    call("admin.get_user", session=session, query={"id": user["userId"]})
    call("admin.has_permission", {"permissions": {"user": ["ban"]}}, session=session)
    new = {"name": "Mary", "email": "mary@example.com", "password": SECOND}
    call("admin.create_user", new, session=session)
    call("admin.update_user", {**user, "data": {"name": "Grace H."}}, session=session)
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


def _keys(ada: Traveller) -> Iterator[None]:
    call, session = ada.witness.call, ada.session
    created = call("api_keys.create", {"name": "ci", "prefix": "ci_"}, session=session)
    call("api_keys.create", {"prefix": "rvk_"}, session=session)
    yield
    key, known = created.body["key"], {"keyId": created.body["id"]}
    for text, token in (
        (key, VERIFIER),
        (key[:-1], VERIFIER),
        (key, UNKNOWN),
        (key, key),
        (VERIFIER, VERIFIER),
    ):
        call("api_keys.verify", {"key": text}, session=token)
    call("sessions.get_current", session=key)
    call("api_keys.get", session=session, query={"id": known["keyId"]})
    call("api_keys.list_own", session=session)
    call("api_keys.update", {**known, "enabled": False}, session=session)
    call("api_keys.verify", {"key": key}, session=VERIFIER)
    call("api_keys.delete", known, session=session)
    yield


def _by_mail(ada: Traveller) -> Iterator[None]:
    """Verify, sign in by links and codes, change the address and reset by codes, as a user of their own."""
    call, address = ada.witness.call, {"email": "mail@example.com"}
    call("authentication.sign_up_email", {**address, "name": "Mail", "password": FIRST})
    session = ""
    for kind, template, operation in (
        ("email-verification", "verify-email-code", "email_codes.verify_email"),
        ("sign-in", "sign-in-code", "email_codes.sign_in"),
    ):
        call("email_codes.send", {**address, "type": kind})
        otp = ada.witness.mail(template)["code"]
        for tried in ("no code", otp):
            call("email_codes.check", {**address, "type": kind, "otp": tried})
        session = call(operation, {**address, "otp": otp}).body["token"]
        yield
    call("magic_links.request", {**address, "callbackURL": "/welcome"})
    link = ada.witness.token_in("magic-link")
    call("magic_links.peek", query={"token": link})
    yield
    call("magic_links.confirm", {"token": link})
    call("magic_links.verify", query={"token": link})
    yield
    call("magic_links.request", address)
    call("magic_links.verify", query={"token": ada.witness.token_in("magic-link")})
    yield
    new = {"newEmail": "mail2@example.com"}
    call("email_codes.request_change", new, session=session)
    otp = ada.witness.mail("change-email-code")["code"]
    call("email_codes.change_email", {**new, "otp": otp}, session=session)
    yield
    for operation in ("request_reset", "forget_password"):
        call(f"email_codes.{operation}", {"email": new["newEmail"]})
        otp = ada.witness.mail("reset-password-code")["code"]
        yield
    call("email_codes.reset_password", {"email": new["newEmail"], "otp": otp, "password": THIRD})
    yield


def _passkeys(ada: Traveller) -> Iterator[None]:
    """Add a passkey, sign in with it, right and wrong, rename and delete it."""
    call, device = ada.witness.call, Authenticator()
    for session in (ada.session, ada.session):
        options = call("passkeys.begin_registration", session=session).body
        created = {"response": device.create(options), "name": "Laptop"}
        call("passkeys.finish_registration", created, session=session)
        call("passkeys.finish_registration", created, session=session)
    yield
    options = call("passkeys.begin_sign_in", session=ada.session).body
    call("passkeys.sign_in", {"response": Authenticator(user_handle=b"nobody").get(options)})
    options = call("passkeys.begin_sign_in").body
    for _ in range(2):
        call("passkeys.sign_in", {"response": device.get(options)})
    yield
    known = {"id": call("passkeys.list_own", session=ada.session).body[0]["id"]}
    for passkey in (known, {"id": UNKNOWN}):
        call("passkeys.rename", {**passkey, "name": "Phone"}, session=ada.session)
        call("passkeys.remove", passkey, session=ada.session)
    yield


def _disown(ada: Traveller) -> Iterator[None]:
    """Create a user with the address of somebody else, who deletes it."""
    call = ada.witness.call
    call("authentication.sign_up_email", {"name": "Mallory", "email": "owner@example.com", "password": FIRST})
    token = ada.witness.not_me_token("verify-email")
    yield
    for _ in range(2):
        call("users.disown", {"token": token})
    yield


def _leave(ada: Traveller) -> Iterator[None]:
    call = ada.witness.call
    call("users.delete", {"password": THIRD}, session=ada.session)
    call("users.confirm_deletion", query={"token": UNKNOWN}, session=ada.session)
    token = ada.witness.token_in("delete-account")
    yield
    call("users.confirm_deletion", query={"token": token}, session=ada.session)
    yield


LEGS = (
    _arrive, _look, _passwords, _address, _enrol, _second_factor, _link, _come_through, _meet_trouble, _service,
    _tokens, _administer, _keys, _by_mail, _passkeys, _disown, _leave,
)  # fmt: skip
