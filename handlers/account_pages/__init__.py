"""The operations of openapi/paths/account_pages.yaml: the pages of one's own account."""

from handlers.account_pages.data import (
    confirm_deletion,
    delete_account,
    export_data,
    show_data,
    show_deletion,
)
from handlers.account_pages.email import change_email, send_verification_email, show_email
from handlers.account_pages.history import show_history
from handlers.account_pages.overview import show_overview
from handlers.account_pages.password import change_password, send_password_link, show_password
from handlers.account_pages.profile import show_profile, update_profile

__all__ = [
    "change_email",
    "change_password",
    "confirm_deletion",
    "delete_account",
    "export_data",
    "send_password_link",
    "send_verification_email",
    "show_data",
    "show_deletion",
    "show_email",
    "show_history",
    "show_overview",
    "show_password",
    "show_profile",
    "update_profile",
]
