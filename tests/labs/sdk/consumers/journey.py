"""A program that uses the generated Python SDK as its users do: every operation of the contract, through its function.

Run beside a service and a provider that the environment names; it prints nothing but what goes wrong.
"""

import json
import os
import re
import subprocess
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx
import pyotp
from gatewright_client import AuthenticatedClient, Client, models
from gatewright_client.api.accounts import list_linked, unlink
from gatewright_client.api.admin import (
    ban_user,
    create_user,
    get_user,
    has_permission,
    impersonate_user,
    list_user_sessions,
    list_users,
    remove_user,
    reset_two_factor,
    revoke_user_session,
    revoke_user_sessions,
    set_role,
    set_user_password,
    stop_impersonating,
    unban_user,
    update_user,
)
from gatewright_client.api.api_keys import create as create_key
from gatewright_client.api.api_keys import delete as delete_key
from gatewright_client.api.api_keys import get as get_key
from gatewright_client.api.api_keys import list_own
from gatewright_client.api.api_keys import update as update_key
from gatewright_client.api.api_keys import verify as verify_key
from gatewright_client.api.authentication import (
    sign_in_email,
    sign_in_username,
    sign_out,
    sign_up_email,
)
from gatewright_client.api.email_codes import change_email as change_email_by_code
from gatewright_client.api.email_codes import check as check_code
from gatewright_client.api.email_codes import forget_password as forget_by_code
from gatewright_client.api.email_codes import request_change as request_change_code
from gatewright_client.api.email_codes import request_reset as request_reset_code
from gatewright_client.api.email_codes import reset_password as reset_by_code
from gatewright_client.api.email_codes import send as send_code
from gatewright_client.api.email_codes import sign_in as sign_in_by_code
from gatewright_client.api.email_codes import verify_email as verify_email_by_code
from gatewright_client.api.emails import change as change_email
from gatewright_client.api.emails import send_verification
from gatewright_client.api.emails import verify as verify_email
from gatewright_client.api.jwt import issue, keys, well_known_keys
from gatewright_client.api.magic_links import confirm as confirm_link
from gatewright_client.api.magic_links import peek
from gatewright_client.api.magic_links import request as request_link
from gatewright_client.api.magic_links import verify as verify_link
from gatewright_client.api.passkeys import begin_registration, finish_registration, rename
from gatewright_client.api.passkeys import begin_sign_in as begin_passkey_sign_in
from gatewright_client.api.passkeys import list_own as list_passkeys
from gatewright_client.api.passkeys import remove as remove_passkey
from gatewright_client.api.passkeys import sign_in as sign_in_by_passkey
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

ROOT = os.environ["SERVICE_ROOT"]
PROVIDER = os.environ["PROVIDER_ISSUER"]
MAILS = Path(os.environ["MAIL_FILE"])
PASSWORD, NEW_PASSWORD = "correct horse battery", "four more words than before"
ADA = "ada@example.com"
PATIENCE = 10.0

Answer = TypeVar("Answer")

nobody = Client(base_url=ROOT)


def of(answer: object, kind: type[Answer]) -> Answer:
    """Return an answer of the kind that is expected; anything else, an error above all, ends the journey."""
    assert isinstance(answer, kind), answer
    return answer


def ok(answer: object) -> None:
    """See that an answer is no error, and that there is one."""
    assert answer is not None
    assert not isinstance(answer, models.Error), answer


def holding(token: str) -> AuthenticatedClient:
    """Return the client of a session or of a pending sign-in."""
    return AuthenticatedClient(base_url=ROOT, token=token)


def sent(template: str, to: str) -> list[dict[str, str]]:
    """Return the mails that were sent so far, oldest first."""
    lines = MAILS.read_text("utf-8").splitlines() if MAILS.exists() else []
    return [each for each in map(json.loads, lines) if (each["template"], each["to"]) == (template, to)]


def mail(template: str, to: str, besides: int = 0) -> dict[str, str]:
    """Wait for a mail in addition to those that were sent before; return the newest one."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        mails = sent(template, to)
        if len(mails) > besides:
            return mails[-1]
        time.sleep(0.05)
    raise AssertionError(f"no mail {template} to {to}")


def token_in(link: str) -> str:
    """Return the token that a mailed link carries."""
    address = urlsplit(link)
    return parse_qs(address.query).get("token", [address.path.rpartition("/")[2]])[0]


def signed_in(password: str = PASSWORD) -> AuthenticatedClient:
    """Sign in with the address."""
    answer = sign_in_email.sync(client=nobody, body=models.SignInEmailRequest(email=ADA, password=password))
    return holding(of(answer, models.SignInAnswer).token)


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


def administration() -> None:
    body = models.SignInEmailRequest(email=os.environ["ADMIN_EMAIL"], password=PASSWORD)
    admin = holding(of(sign_in_email.sync(client=nobody, body=body), models.SignInAnswer).token)
    wanted = models.CreateUserRequest(
        email="grace@example.com", name="Grace", password=PASSWORD, role=["user"]
    )
    user = of(create_user.sync(client=admin, body=wanted), models.UserAnswer).user
    assert (
        of(list_users.sync(client=admin, search_value="grace", limit=1), models.UserPage).users[0].id
        == user.id
    )
    assert of(get_user.sync(client=admin, id=user.id), models.User).email == user.email
    changes = models.UpdateUserAsAdminRequest(user_id=user.id, data=models.UpdateUserData(name="Grace H."))
    assert of(update_user.sync(client=admin, body=changes), models.User).name == "Grace H."
    which = models.UserIdRequest(user_id=user.id)
    acting = of(impersonate_user.sync(client=admin, body=which), models.Impersonation)
    assert acting.session.impersonated_by
    stopped = of(stop_impersonating.sync(client=holding(acting.session.token)), models.StoppedImpersonation)
    assert stopped.session is None
    ok(set_role.sync(client=admin, body=models.SetRoleRequest(user_id=user.id, role=["user", "admin"])))
    permissions = models.HasPermissionRequestPermissions.from_dict({"user": ["ban", "list"]})
    asked = models.HasPermissionRequest(permissions=permissions)
    assert of(has_permission.sync(client=admin, body=asked), models.PermissionVerdict).success
    assert of(list_user_sessions.sync(client=admin, body=which), models.SessionsOfUser).sessions == []
    ok(revoke_user_session.sync(client=admin, body=models.RevokeUserSessionRequest(session_token="x" * 32)))
    assert of(revoke_user_sessions.sync(client=admin, body=which), models.RevokedUserSessions).count == 0
    new = models.SetUserPasswordRequest(user_id=user.id, new_password=NEW_PASSWORD)
    ok(set_user_password.sync(client=admin, body=new))
    ok(reset_two_factor.sync(client=admin, body=which))
    assert of(
        ban_user.sync(client=admin, body=models.BanUserRequest(user_id=user.id)), models.UserAnswer
    ).user.banned
    ok(unban_user.sync(client=admin, body=which))
    ok(remove_user.sync(client=admin, body=which))
    assert of(get_user.sync(client=admin, id=user.id), models.Error).code == "USER_NOT_FOUND"


def api_keys() -> None:
    ada, service = signed_in(), holding(os.environ["VERIFIER"])
    made = of(create_key.sync(client=ada, body=models.CreateApiKeyRequest(name="ci")), models.CreatedApiKey)
    assert of(get_key.sync(client=ada, id=made.id), models.ApiKey).start == made.start
    assert of(list_own.sync(client=ada, limit=10), models.ApiKeyPage).total == 1
    asked = models.VerifyApiKeyRequest(key=made.key)
    verdict = of(verify_key.sync(client=service, body=asked), models.ApiKeyVerdict)
    assert verdict.valid
    assert of(verdict.key, models.ApiKey).id == made.id
    ok(update_key.sync(client=ada, body=models.UpdateApiKeyRequest(key_id=made.id, enabled=False)))
    refused = of(verify_key.sync(client=service, body=asked), models.ApiKeyVerdict)
    assert of(refused.error, models.ApiKeyRefusal).code == "KEY_DISABLED"
    ok(delete_key.sync(client=ada, body=models.DeleteApiKeyRequest(key_id=made.id)))
    assert of(get_key.sync(client=ada, id=made.id), models.Error).code == "KEY_NOT_FOUND"


def sign_in_by_mail() -> None:
    mary, grace = "mary@example.com", "grace.code@example.com"
    ok(request_link.sync(client=nobody, body=models.RequestMagicLinkRequest(email=ADA)))
    token = token_in(mail("magic-link", ADA)["link"])
    assert not of(peek.sync(client=nobody, token=token), models.MagicLinkPreview).new_user
    ok(verify_link.sync(client=nobody, token=token))
    ok(request_link.sync(client=nobody, body=models.RequestMagicLinkRequest(email=mary)))
    token = token_in(mail("magic-link", mary)["link"])
    ok(confirm_link.sync(client=nobody, body=models.ConfirmMagicLinkRequest(token=token)))
    ok(
        send_code.sync(
            client=nobody, body=models.SendEmailCodeRequest.from_dict({"email": ADA, "type": "sign-in"})
        )
    )
    code = mail("sign-in-code", ADA)["code"]
    ok(
        check_code.sync(
            client=nobody,
            body=models.CheckEmailCodeRequest.from_dict({"email": ADA, "type": "sign-in", "otp": code}),
        )
    )
    ok(sign_in_by_code.sync(client=nobody, body=models.SignInEmailCodeRequest(email=ADA, otp=code)))
    sign_up = of(
        sign_up_email.sync(
            client=nobody, body=models.SignUpRequest(name="Grace", email=grace, password=PASSWORD)
        ),
        models.SignedUp,
    )
    wanted = models.SendEmailCodeRequest.from_dict({"email": grace, "type": "email-verification"})
    ok(send_code.sync(client=nobody, body=wanted))
    code = mail("verify-email-code", grace)["code"]
    ok(verify_email_by_code.sync(client=nobody, body=models.VerifyEmailCodeRequest(email=grace, otp=code)))
    as_grace, new = holding(of(sign_up.token, str)), "grace.new@example.com"
    ok(request_change_code.sync(client=as_grace, body=models.RequestEmailChangeRequest(new_email=new)))
    code = mail("change-email-code", new)["code"]
    ok(
        change_email_by_code.sync(
            client=as_grace, body=models.ChangeEmailByCodeRequest(new_email=new, otp=code)
        )
    )
    ok(forget_by_code.sync(client=nobody, body=models.RequestResetCodeRequest(email=mary)))
    ok(request_reset_code.sync(client=nobody, body=models.RequestResetCodeRequest(email=ADA)))
    code = mail("reset-password-code", ADA)["code"]
    reset = models.ResetPasswordByCodeRequest(email=ADA, otp=code, password=PASSWORD)
    ok(reset_by_code.sync(client=nobody, body=reset))


def passkeys() -> None:
    ada = signed_in()
    options = of(begin_registration.sync(client=ada), models.PasskeyRegistrationOptions)
    created = models.PasskeyRegistration.from_dict(authenticator("create", options.to_dict()))
    body = models.VerifyPasskeyRegistrationRequest(response=created, name="Laptop")
    added = of(finish_registration.sync(client=ada, body=body), models.Passkey)
    offer = of(begin_passkey_sign_in.sync(client=ada), models.PasskeySignInOptions)
    signed = models.PasskeyAuthentication.from_dict(authenticator("get", offer.to_dict()))
    answer = of(
        sign_in_by_passkey.sync(client=ada, body=models.VerifyPasskeySignInRequest(response=signed)),
        models.PasskeyAnswer,
    )
    assert of(answer.user, models.User).email == ADA
    renamed = of(
        rename.sync(client=ada, body=models.UpdatePasskeyRequest(id=added.id, name="Phone")),
        models.UpdatedPasskey,
    )
    assert [one.name for one in of(list_passkeys.sync(client=ada), list)] == [renamed.passkey.name]
    ok(remove_passkey.sync(client=ada, body=models.DeletePasskeyRequest(id=added.id)))


def authenticator(ceremony: str, options: dict[str, object]) -> dict[str, object]:
    """Ask the authenticator, which is a program, for its response."""
    command = [*os.environ["AUTHENTICATOR"].split(), ceremony]
    asked = subprocess.run(command, input=json.dumps(options), capture_output=True, text=True, check=True)
    response: dict[str, object] = json.loads(asked.stdout)
    return response


STAGES: tuple[Callable[[], None], ...] = (
    service, sessions, passwords, emails_and_profile, two_factor, providers, administration, api_keys,
    sign_in_by_mail, passkeys, deletion,
)  # fmt: skip

if __name__ == "__main__":
    for stage in STAGES:
        stage()
