"""A program that uses the generated Python SDK as its users do: every operation of the contract, through its function.

Run beside a service and a provider that the environment names; it prints nothing but what goes wrong.
"""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from urllib.parse import parse_qs, urlsplit

import httpx
import pyotp
import stages
from client import (
    ADA,
    NEW_PASSWORD,
    PASSWORD,
    PROVIDER,
    ROOT,
    holding,
    mail,
    nobody,
    of,
    ok,
    sent,
    signed_in,
    token_in,
)
from gatewright_client import AuthenticatedClient, Client, models
from gatewright_client.api.accounts import list_linked, unlink
from gatewright_client.api.authentication import sign_in_email, sign_in_username, sign_out, sign_up_email
from gatewright_client.api.emails import change as change_email
from gatewright_client.api.emails import send_verification
from gatewright_client.api.emails import verify as verify_email
from gatewright_client.api.jwt import issue, keys, well_known_keys
from gatewright_client.api.passwords import change as change_password
from gatewright_client.api.passwords import check_reset_token, forget, request_reset
from gatewright_client.api.passwords import reset as reset_password
from gatewright_client.api.passwords import verify as verify_password
from gatewright_client.api.service import check_health, check_readiness, show_error
from gatewright_client.api.sessions import get_current, list_active, revoke, revoke_all, revoke_others
from gatewright_client.api.social import (
    get_access_token,
    get_profile,
    receive_callback,
    refresh_token,
    relay_callback,
)
from gatewright_client.api.social import link as link_social
from gatewright_client.api.social import sign_in as sign_in_social
from gatewright_client.api.two_factor import (
    disable,
    enable,
    generate_backup_codes,
    get_totp_uri,
    send_otp,
    verify_backup_code,
    verify_otp,
    verify_totp,
)
from gatewright_client.api.users import check_username, confirm_deletion, disown
from gatewright_client.api.users import delete as delete_user
from gatewright_client.api.users import update as update_profile


def service() -> None:
    ok(check_health.sync(client=nobody))
    ok(check_readiness.sync(client=nobody))
    assert "SOME_ERROR" in str(show_error.sync_detailed(client=nobody, error="SOME_ERROR").content)


def sessions() -> None:
    ok(check_username.sync(client=nobody, body=models.CheckUsernameRequest(username="ada")))
    sign_up = models.SignUpRequest(name="Ada", email=ADA, password=PASSWORD, username="ada", remember_me=True)
    ok(sign_up_email.sync(client=nobody, body=sign_up))
    taken = models.SignUpRequest(name="Eve", email=ADA, password=PASSWORD)
    again = of(sign_up_email.sync(client=nobody, body=taken), models.Error)
    assert again.code == "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL"
    one, two, three = signed_in(), signed_in(), signed_in()
    by_name = sign_in_username.sync(
        client=nobody, body=models.SignInUsernameRequest(username="ADA", password=PASSWORD)
    )
    found = of(
        get_current.sync(client=holding(of(by_name, models.SignInAnswer).token)), models.CurrentSession
    )
    assert found.user.email == ADA
    assert found.session.expires_at > found.session.created_at
    listed = list_active.sync(client=one)
    assert isinstance(listed, list)
    assert len(listed) == 5
    kid = json.loads(
        urlsafe_b64decode(of(issue.sync(client=one), models.SessionToken).token.partition(".")[0] + "==")
    )["kid"]
    for published in (keys.sync(client=nobody), well_known_keys.sync(client=nobody)):
        assert kid in [key.kid for key in of(published, models.KeySet).keys]
    ok(revoke.sync(client=one, body=models.RevokeSessionRequest(token=two.token)))
    assert of(get_current.sync(client=two), models.Error).code == "UNAUTHORIZED"
    ok(revoke_others.sync(client=one))
    assert of(get_current.sync(client=three), models.Error).code == "UNAUTHORIZED"
    ok(sign_out.sync(client=one))
    assert of(get_current.sync(client=one), models.Error).code == "UNAUTHORIZED"
    four = signed_in()
    ok(revoke_all.sync(client=four))
    assert of(get_current.sync(client=four), models.Error).code == "UNAUTHORIZED"


def passwords() -> None:
    ada = signed_in()
    ok(verify_password.sync(client=ada, body=models.VerifyPasswordRequest(password=PASSWORD)))
    change = models.ChangePasswordRequest(
        current_password=PASSWORD, new_password=NEW_PASSWORD, revoke_other_sessions=True
    )
    ok(change_password.sync(client=ada, body=change))
    ok(request_reset.sync(client=nobody, body=models.RequestPasswordResetRequest(email=ADA)))
    token = token_in(mail("reset-password", ADA)["link"])
    ok(check_reset_token.sync(token, client=nobody))
    ok(
        reset_password.sync(
            client=nobody, body=models.ResetPasswordRequest(new_password=PASSWORD, token=token)
        )
    )
    used = reset_password.sync(
        client=nobody, body=models.ResetPasswordRequest(new_password=PASSWORD, token=token)
    )
    assert of(used, models.Error).code == "INVALID_TOKEN"
    ok(forget.sync(client=nobody, body=models.RequestPasswordResetRequest(email=ADA)))


def emails_and_profile() -> None:
    ada = signed_in()
    before = len(sent("verify-email", ADA))  # The reset has ended the link of the sign-up.
    ok(send_verification.sync(client=ada, body=models.SendVerificationEmailRequest(email=ADA)))
    ok(verify_email.sync(client=ada, token=token_in(mail("verify-email", ADA, before)["link"])))
    assert of(get_current.sync(client=ada), models.CurrentSession).user.email_verified
    change = change_email.sync(client=ada, body=models.ChangeEmailRequest(new_email="countess@example.com"))
    assert of(change, models.EmailChangeAccepted).verification_sent is True
    ok(mail("change-email", "countess@example.com"))
    ok(
        update_profile.sync(
            client=ada, body=models.UpdateUserRequest(name="Countess", image="https://example.com/ada.png")
        )
    )
    assert of(get_current.sync(client=ada), models.CurrentSession).user.name == "Countess"


def two_factor() -> None:
    ada = signed_in()
    ok(enable.sync(client=ada, body=models.EnableTwoFactorRequest(password=PASSWORD)))
    uri = get_totp_uri.sync(client=ada, body=models.GetTotpUriRequest(password=PASSWORD))
    app = pyotp.parse_uri(of(uri, models.TotpUri).totp_uri)
    assert isinstance(app, pyotp.TOTP)
    ok(verify_totp.sync(client=ada, body=models.VerifyTotpRequest(code=app.now())))
    codes = generate_backup_codes.sync(client=ada, body=models.GenerateBackupCodesRequest(password=PASSWORD))
    backup = of(codes, models.NewBackupCodes).backup_codes[0]
    ok(verify_totp.sync(client=pending(), body=models.VerifyTotpRequest(code=app.now())))
    waiting = pending()
    ok(send_otp.sync(client=waiting))
    ok(
        verify_otp.sync(
            client=waiting, body=models.VerifyOtpRequest(code=mail("otp", ADA)["code"], trust_device=True)
        )
    )
    ok(verify_backup_code.sync(client=pending(), body=models.VerifyBackupCodeRequest(code=backup)))
    ok(disable.sync(client=ada, body=models.DisableTwoFactorRequest(password=PASSWORD)))


def pending() -> AuthenticatedClient:
    """Sign in up to the second factor."""
    answer = of(
        sign_in_email.sync(client=nobody, body=models.SignInEmailRequest(email=ADA, password=PASSWORD)),
        models.SignInAnswer,
    )
    assert answer.two_factor_redirect
    assert answer.two_factor_methods == ["totp", "otp"]
    return holding(answer.token)


def providers() -> None:
    ada = signed_in()
    with httpx.Client(trust_env=False) as other_ways:
        claims = {"sub": "7", "email": ADA, "email_verified": True, "name": "Ada"}
        other_ways.post(f"{PROVIDER}/control", json={"user": claims}).raise_for_status()
        link = link_social.sync_detailed(
            client=ada, body=models.LinkSocialRequest(provider="test", callback_url="/")
        )
        come_back(other_ways, of(link.parsed, models.SocialLink).url, link.headers["set-cookie"])
        begun = sign_in_social.sync_detailed(
            client=nobody,
            body=models.SignInSocialRequest(provider="test", scopes=["openid", "email"], callback_url="/"),
        )
        come_back(other_ways, of(begun.parsed, models.SocialSignIn).url or "", begun.headers["set-cookie"])
    relayed = relay_callback.sync_detailed(
        "test", client=nobody, body=models.ProviderCallbackForm(state="x", code="y")
    )
    assert relayed.status_code == 303
    linked = list_linked.sync(client=ada)
    assert isinstance(linked, list)
    assert [account.provider for account in linked] == ["credential", "test"]
    which = models.ProviderTokenRequest(provider_id="test")
    ok(get_access_token.sync(client=ada, body=which))
    ok(refresh_token.sync(client=ada, body=which))
    ok(get_profile.sync(client=ada, provider_id="test"))
    ok(unlink.sync(client=ada, body=models.UnlinkAccountRequest(provider_id="test")))


def come_back(browser: httpx.Client, page: str, cookie: str) -> None:
    """Visit the provider, which decides at once, and bring what it answers to the service, with the flow's cookie."""
    answer = parse_qs(urlsplit(browser.get(page).headers["location"]).query)
    back = Client(base_url=ROOT, headers={"Cookie": cookie.partition(";")[0]})
    landed = receive_callback.sync_detailed(
        "test", client=back, code=answer["code"][0], state=answer["state"][0]
    )
    assert landed.status_code == 302
    assert "error" not in landed.headers["location"], landed.headers["location"]


def deletion() -> None:
    ada = signed_in()
    assert of(confirm_deletion.sync(client=ada, token="x" * 32), models.Error).code == "INVALID_TOKEN"
    ok(delete_user.sync(client=ada, body=models.DeleteUserRequest(password=PASSWORD)))
    assert of(get_current.sync(client=ada), models.Error).code == "UNAUTHORIZED"
    mallory = models.SignUpRequest(name="Mallory", email="mallory@example.com", password=PASSWORD)
    ok(sign_up_email.sync(client=nobody, body=mallory))
    token = re.findall(r"not-me\?token=(\w+)", mail("verify-email", mallory.email)["text"])[0]
    link = models.DisownAccountRequest(token=token)
    assert of(disown.sync(client=nobody, body=link), models.Success).success is True
    assert of(disown.sync(client=nobody, body=link), models.Error).code == "INVALID_TOKEN"


FIRST_STAGES: tuple[Callable[[], None], ...] = (
    service, sessions, passwords, emails_and_profile, two_factor, providers,
)  # fmt: skip
"""Stages that follow upon each other."""


def journey() -> None:
    """Go through the first stages, those of the modules, and the deletion of the user."""
    for stage in FIRST_STAGES:
        stage()
    for module in sorted(iter_modules(stages.__path__), key=lambda module: module.name):
        import_module(f"stages.{module.name}").stage()
    deletion()


if __name__ == "__main__":
    journey()
