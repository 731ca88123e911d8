"""Health, the error page and the mailbox."""

from collections.abc import Iterator

from tests.security.everything.traveller import UNKNOWN, Traveller


def leg(ada: Traveller) -> Iterator[None]:
    for operation in ("check_health", "check_readiness", "show_error"):
        ada.witness.call(f"service.{operation}")
    ada.witness.call("mailbox.list_mails")
    for operation in ("show_mail", "show_html"):
        for mail_id in (ada.witness.mail_ids()[-1], UNKNOWN):
            ada.witness.call(f"mailbox.{operation}", mailId=mail_id)
    yield
