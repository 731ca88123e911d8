"""Codes by email."""

from collections.abc import Iterator

from tests.security.everything.traveller import FIRST, THIRD, Traveller

SETTINGS = {"email_codes.enabled": "true"}


def leg(ada: Traveller) -> Iterator[None]:
    """Verify, sign in, change the address and reset the password by codes, as a user of their own."""
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
