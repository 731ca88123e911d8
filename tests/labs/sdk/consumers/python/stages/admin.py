"""Administration of users."""

import os

from client import NEW_PASSWORD, PASSWORD, holding, nobody, of, ok
from gatewright_client import AuthenticatedClient, models
from gatewright_client.api.admin import (
    ban_user,
    create_user,
    export_user,
    export_users,
    get_user,
    has_permission,
    impersonate_user,
    list_user_accounts,
    list_user_passkeys,
    list_user_sessions,
    list_users,
    remove_user,
    remove_user_passkey,
    reset_two_factor,
    revoke_user_session,
    revoke_user_sessions,
    search_users,
    send_password_reset,
    set_role,
    set_user_password,
    stop_impersonating,
    unban_user,
    unlink_user_account,
    update_user,
)
from gatewright_client.api.api_keys import list_all
from gatewright_client.api.audit import export_events, get_event, list_events
from gatewright_client.api.authentication import sign_in_email
from gatewright_client.api.doctor import run as run_doctor
from gatewright_client.api.instances import list_all as list_instances
from gatewright_client.api.jwt import list_signing_keys, revoke_signing_key, rotate_signing_key
from gatewright_client.api.mail import (
    give_up,
    list_messages,
    list_templates,
    preview,
    send_again,
    send_preview,
)
from gatewright_client.api.settings import list_all as list_settings
from gatewright_client.api.statistics import get as get_statistics


def stage() -> None:
    body = models.SignInEmailRequest(email=os.environ["ADMIN_EMAIL"], password=PASSWORD)
    admin = holding(of(sign_in_email.sync(client=nobody, body=body), models.SignInAnswer).token)
    run_the_service(admin)
    wanted = models.CreateUserRequest(
        email="grace@example.com", name="Grace", password=PASSWORD, role=["user"]
    )
    user = of(create_user.sync(client=admin, body=wanted), models.UserAnswer).user
    assert (
        of(list_users.sync(client=admin, search_value="grace", limit=1), models.UserPage).users[0].id
        == user.id
    )
    found = of(search_users.sync(client=admin, search="grace"), models.FoundUsers)
    assert [one.id for one in found.users] == [user.id]
    assert of(get_user.sync(client=admin, id=user.id), models.User).email == user.email
    changes = models.UpdateUserAsAdminRequest(user_id=user.id, data=models.UpdateUserData(name="Grace H."))
    assert of(update_user.sync(client=admin, body=changes), models.User).name == "Grace H."
    page = of(list_events.sync(client=admin, subject=user.id, limit=1), models.AuditEventPage)
    assert of(get_event.sync(client=admin, id=page.events[0].id), models.AuditEvent) == page.events[0]
    assert of(list_all.sync(client=admin, owner=user.id), models.OwnedApiKeyPage).api_keys == []
    assert ",grace@example.com," in of(export_users.sync(client=admin, search="grace"), str)
    assert "user.created" in of(export_events.sync(client=admin, subject=user.id), str)
    figures = of(get_statistics.sync(client=admin), models.Statistics)
    assert figures.days
    assert len(figures.days) == 30
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
    [account] = of(list_user_accounts.sync(client=admin, id=user.id), models.AccountsOfUser).accounts
    unlinked = models.UnlinkUserAccountRequest(user_id=user.id, account_id=account.id)
    last = of(unlink_user_account.sync(client=admin, body=unlinked), models.Error)
    assert last.code == "FAILED_TO_UNLINK_LAST_ACCOUNT"
    assert of(list_user_passkeys.sync(client=admin, id=user.id), models.PasskeysOfUser).passkeys == []
    lost = models.RemoveUserPasskeyRequest(user_id=user.id, passkey_id="x" * 32)
    assert of(remove_user_passkey.sync(client=admin, body=lost), models.Error).code == "PASSKEY_NOT_FOUND"
    ok(send_password_reset.sync(client=admin, body=models.SendPasswordResetRequest(user_id=user.id)))
    assert of(export_user.sync(client=admin, id=user.id), models.UserExport).sessions == []
    new = models.SetUserPasswordRequest(user_id=user.id, new_password=NEW_PASSWORD)
    ok(set_user_password.sync(client=admin, body=new))
    ok(reset_two_factor.sync(client=admin, body=which))
    assert of(
        ban_user.sync(client=admin, body=models.BanUserRequest(user_id=user.id)), models.UserAnswer
    ).user.banned
    ok(unban_user.sync(client=admin, body=which))
    ok(remove_user.sync(client=admin, body=which))
    assert of(get_user.sync(client=admin, id=user.id), models.Error).code == "USER_NOT_FOUND"


def run_the_service(admin: AuthenticatedClient) -> None:
    """Look after emails, signing keys and settings."""
    assert of(list_messages.sync(client=admin, limit=5), models.MailPage).mails
    template = of(list_templates.sync(client=admin), models.MailTemplates).templates[0].name
    assert of(preview.sync(client=admin, template=template), models.MailPreview).subject
    ok(send_preview.sync(client=admin, body=models.SendMailPreviewRequest(template=template)))
    unknown = models.MailRequest(mail_id="x" * 32)
    assert of(send_again.sync(client=admin, body=unknown), models.Error).code == "MAIL_NOT_FOUND"
    assert of(give_up.sync(client=admin, body=unknown), models.Error).code == "MAIL_NOT_FOUND"
    request = models.RotateSigningKeyRequest(algorithm="ES256", now=True)
    ok(rotate_signing_key.sync(client=admin, body=request))
    retired = of(list_signing_keys.sync(client=admin), models.SigningKeys).keys[-1].id
    ok(revoke_signing_key.sync(client=admin, body=models.RevokeSigningKeyRequest(key_id=retired)))
    assert of(list_settings.sync(client=admin), models.SettingList).settings
    assert of(list_instances.sync(client=admin), models.InstanceList).instances
    assert of(run_doctor.sync(client=admin), models.DoctorReport).findings
