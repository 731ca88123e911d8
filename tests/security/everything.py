"""A journey through every operation of the contract, as one user after the other, right and wrong."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.security.second_factor import PENDING, SESSION, TRUST, secret_in, set_cookies
from tests.security.witness import Witness, code_of

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
    "password_reset.sender": "file",
    "mail.smtp.password": "the password of the mail server",
    "secrets": "a service key that nobody may ever read anywhere",
    "delete_user.confirm_by_mail": "true",
    "password.argon2_memory_kib": "19456",
    "password.argon2_time": "2",
    "two_factor.backup_code_count": "3",
}
CONFIGURED = (SETTINGS["mail.smtp.password"], SETTINGS["secrets"])

NEED_A_PROVIDER = frozenset(
    {
        "authentication.sign_in_social",
        "accounts.link_social",
        "accounts.get_access_token",
        "accounts.refresh_token",
        "accounts.get_profile",
        "accounts.receive_callback",
        "accounts.relay_callback",
        "accounts.list_linked",
        "accounts.unlink",
    }
)
"""Operations that are refused here; those who sign in through a provider have journeys of their own."""


@dataclass
class Traveller:
    """Who goes: the witness, and the session they have at the moment."""

    witness: Witness
    session: str = ""


def journey(witness: Witness) -> Iterator[None]:
    """Go through everything; stop after each leg, so that somebody may look into the database."""
    ada = Traveller(witness)
    for leg in (_arrive, _look, _passwords, _address, _enrol, _second_factor, _providers, _service, _leave):
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


def _providers(ada: Traveller) -> Iterator[None]:
    call, session = ada.witness.call, ada.session
    direct = {"provider": "google", "idToken": {"token": "e" * 40}}
    call("authentication.sign_in_social", direct)
    call("accounts.link_social", {"provider": "google"}, session=session)
    call("accounts.list_linked", session=session)
    for operation in ("get_access_token", "refresh_token"):
        call(f"accounts.{operation}", {"providerId": "google"}, session=session)
    call("accounts.get_profile", session=session, query={"providerId": "google"})
    call("accounts.unlink", {"providerId": "google"}, session=session)
    returned = {"code": "a code of the provider", "state": UNKNOWN}
    call("accounts.receive_callback", query=returned, provider="google")
    call("accounts.relay_callback", returned, provider="google")
    yield


def _service(ada: Traveller) -> Iterator[None]:
    for operation in ("check_health", "check_readiness", "show_error"):
        ada.witness.call(f"service.{operation}")
    yield


def _leave(ada: Traveller) -> Iterator[None]:
    call = ada.witness.call
    call("users.delete", {"password": THIRD}, session=ada.session)
    call("users.confirm_deletion", query={"token": UNKNOWN}, session=ada.session)
    token = ada.witness.token_in("delete-account")
    yield
    call("users.confirm_deletion", query={"token": token}, session=ada.session)
    yield
