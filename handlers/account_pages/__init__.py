"""The operations of account_pages.yaml and account_security_pages.yaml in openapi/paths: one's own account."""

from handlers.account_pages.api_keys import create_api_key, delete_api_key, show_api_keys
from handlers.account_pages.connections import connect_provider, disconnect_provider, show_connections
from handlers.account_pages.second_factor import (
    confirm_second_factor,
    disable_second_factor,
    enable_second_factor,
    forget_trusted_device,
    forget_trusted_devices,
    replace_backup_codes,
    show_second_factor,
)
from handlers.account_pages.sessions import end_other_sessions, end_session, show_sessions

__all__ = [
    "confirm_second_factor",
    "connect_provider",
    "create_api_key",
    "delete_api_key",
    "disable_second_factor",
    "disconnect_provider",
    "enable_second_factor",
    "end_other_sessions",
    "end_session",
    "forget_trusted_device",
    "forget_trusted_devices",
    "replace_backup_codes",
    "show_api_keys",
    "show_connections",
    "show_second_factor",
    "show_sessions",
]
