"""The settings of magic links."""

from collections.abc import Iterator

from domain.magic_links.policy import MagicLinkPolicy
from server.config.base import Group, Settings
from server.config.groups.mail import MailSettings
from server.config.groups.pages import PagesSettings
from server.config.value_types import Duration, OptionalUrl, duration_between, setting


class MagicLinkSettings(Group):
    """`magic_links.*`: sign-in by a link sent by email."""

    key = "magic_links"
    enabled_in_development = True

    fills = (MagicLinkPolicy,)

    former_keys = (
        "magic_link.enabled",
        "magic_link.expires_in",
        "magic_link.sign_up",
        "magic_link.confirm",
        "magic_link.page",
    )

    enabled: bool = setting(
        False,
        "Whether users can sign in with a link sent by email; by default true in development, unless "
        "`mail.sender` is none.",
    )
    expires_in: Duration = duration_between("10m", "Lifetime of a link.", at_least="1m", at_most="1h")
    sign_up: bool = setting(
        True,
        "Whether a link creates a user if none has the email address; no effect while `sign_up.enabled` is "
        "false.",
    )
    confirm: bool = setting(
        True,
        "Whether the link opens a page with a button that signs in. If false, opening the link signs in, "
        "and a mail scanner that opens it uses it up.",
    )
    page: OptionalUrl = setting(
        None,
        "Page at a trusted origin with the button of `confirm`; by default the hosted page. Required if "
        "`confirm` is true and `pages.enabled` false.",
    )

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if links cannot be sent or opened, or if redirects to a page are not allowed."""
        if self.enabled and not settings[MailSettings].has_sender:
            yield "magic_links.enabled: needs a mail.sender"
        if self.enabled and self.confirm and self.page is None and not settings[PagesSettings].enabled:
            yield "magic_links.page: is required while magic_links.confirm is true and pages.enabled false"
        yield from settings.page_problems("magic_links.page", self.page)
