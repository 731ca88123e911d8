"""A journey through every operation of the contract, as one user after the other, right and wrong."""

from collections.abc import Callable, Iterator

import httpx

from tests.discovery import modules
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.steps import as_user
from tests.live import TIMEOUT
from tests.security.everything import legs
from tests.security.everything.traveller import ADA, EVE, FIRST, SECOND, THIRD, UNKNOWN, WRONG, Traveller
from tests.security.second_factor import PENDING, SESSION, TRUST, secret_in, set_cookies
from tests.security.witness import Answer, Witness, code_of
from tests.service import NO_TLS

SETTINGS = {
    "log.level": "debug",
    "mail.sender": "file",
    "mail.smtp.password": "the password of the mail server",
    "secrets": "a service key that nobody may ever read anywhere",
    "delete_user.confirm_by_mail": "true",
    "password.argon2_memory_kib": "19456",
    "password.argon2_time": "2",
    "two_factor.backup_code_count": "3",
}
"""Settings of the service, without those of the legs."""

PROVIDER = "test"


def settings() -> dict[str, str]:
    """Return the settings of the service, with those that the legs declare."""
    declared = [getattr(leg, "SETTINGS", {}) for leg in modules(legs)]
    return SETTINGS | {name: value for part in declared for name, value in part.items()}


def configured_secrets() -> list[str]:
    """Return the secrets among the settings."""
    declared = [secret for leg in modules(legs) for secret in getattr(leg, "SECRETS", ())]
    return [SETTINGS["mail.smtp.password"], SETTINGS["secrets"], *declared]


def journey(
    witness: Witness, provider: ProviderProcess, promote: Callable[[str], None] = lambda email: None
) -> Iterator[None]:
    """Go through everything; stop after each step, so that the caller can look into the database."""
    ada = Traveller(witness, provider, promote)
    for leg in (*FIRST_LEGS, *(module.leg for module in modules(legs)), _leave):
        yield from leg(ada)


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
    visited = httpx.get(url, trust_env=False, verify=NO_TLS, timeout=TIMEOUT)
    sent = dict(httpx.URL(visited.headers["location"]).params)
    ada.witness.secrets.setdefault(sent["code"], "code of the provider")
    if by_form:
        relayed = ada.witness.call("social.relay_callback", sent, provider=PROVIDER)
        sent = dict(httpx.URL(relayed.response.headers["location"]).params)
    cookies = set_cookies(begun.response)
    answer = ada.witness.call("social.receive_callback", query=sent, cookies=cookies, provider=PROVIDER)
    ada.witness.overhear(url, ada.provider)
    return answer


def _leave(ada: Traveller) -> Iterator[None]:
    call = ada.witness.call
    call("users.delete", {"password": THIRD}, session=ada.session)
    call("users.confirm_deletion", query={"token": UNKNOWN}, session=ada.session)
    token = ada.witness.token_in("delete-account")
    yield
    call("users.confirm_deletion", query={"token": token}, session=ada.session)
    yield


FIRST_LEGS = (
    _arrive, _look, _passwords, _address, _enrol, _second_factor, _link, _come_through, _meet_trouble,
)  # fmt: skip
"""Legs that follow upon each other: they change the password and the email address of Ada."""
