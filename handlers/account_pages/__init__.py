"""The operations with the tag `account_pages` in openapi/paths: pages for the user's own account."""

from handlers.account_pages.api_keys import (
    create_api_key,
    delete_api_key,
    show_api_key_deletion,
    show_api_keys,
    show_new_api_key,
)
from handlers.account_pages.applications import (
    revoke_application,
    show_application_revocation,
    show_applications,
)
from handlers.account_pages.connections import (
    connect_provider,
    disconnect_provider,
    show_connections,
    show_disconnection,
)
from handlers.account_pages.data import (
    confirm_deletion,
    delete_account,
    export_data,
    show_data,
    show_deletion,
)
from handlers.account_pages.device import approve_device, deny_device, show_device
from handlers.account_pages.email import change_email, send_verification_email, show_email
from handlers.account_pages.history import show_history
from handlers.account_pages.overview import show_overview
from handlers.account_pages.passkeys import (
    add_passkey,
    remove_passkey,
    rename_passkey,
    show_passkey_removal,
    show_passkeys,
)
from handlers.account_pages.password import change_password, send_password_link, show_password
from handlers.account_pages.profile import show_profile, update_profile
from handlers.account_pages.removed_access import show_removed_access
from handlers.account_pages.sessions import end_other_sessions, end_session, show_sessions
from handlers.account_pages.two_factor import (
    confirm_two_factor,
    disable_two_factor,
    enable_two_factor,
    forget_trusted_device,
    forget_trusted_devices,
    replace_backup_codes,
    show_backup_codes,
    show_two_factor,
    show_two_factor_setup,
)

__all__ = [
    "add_passkey",
    "approve_device",
    "change_email",
    "change_password",
    "confirm_deletion",
    "confirm_two_factor",
    "connect_provider",
    "create_api_key",
    "delete_account",
    "delete_api_key",
    "deny_device",
    "disable_two_factor",
    "disconnect_provider",
    "enable_two_factor",
    "end_other_sessions",
    "end_session",
    "export_data",
    "forget_trusted_device",
    "forget_trusted_devices",
    "remove_passkey",
    "rename_passkey",
    "replace_backup_codes",
    "revoke_application",
    "send_password_link",
    "send_verification_email",
    "show_api_key_deletion",
    "show_api_keys",
    "show_application_revocation",
    "show_applications",
    "show_backup_codes",
    "show_connections",
    "show_data",
    "show_deletion",
    "show_device",
    "show_disconnection",
    "show_email",
    "show_history",
    "show_new_api_key",
    "show_overview",
    "show_passkey_removal",
    "show_passkeys",
    "show_password",
    "show_profile",
    "show_removed_access",
    "show_sessions",
    "show_two_factor",
    "show_two_factor_setup",
    "update_profile",
]
