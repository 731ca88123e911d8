"""The page that leads from the hosted pages to applications and identity providers.

Browsers apply `form-action` to every redirect after a form submission, including redirects by the application (CSP
Level 3, 6.4.1), and Chromium blocks them without an error message. Hosted pages therefore never redirect to another
site after a form: they redirect to this page, which begins a new navigation.
"""

import json
from datetime import datetime, timedelta

from domain import urls
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.pages.errors import InvalidTarget
from domain.pages.policy import PagesPolicy
from domain.policy import Policy
from domain.ports import Cipher

LIFE = timedelta(minutes=5)
"""How long an encrypted target is accepted. The browser uses it at once, but the user may return to the page."""

_PURPOSE = "pages.leaving"


def is_page(policy: Policy, url: str) -> bool:
    """Return whether a relative or absolute URL is that of a hosted page or of a page of the console."""
    path = url.removeprefix(policy.base_url).partition("?")[0].partition("#")[0]
    roots = (policy.base_path + policy[PagesPolicy].path, policy.base_path + policy[ConsolePolicy].path)
    return any(f"{path}/".startswith(f"{root}/") for root in roots)


def leaving_url(
    policy: Policy, cipher: Cipher, target: str, now: datetime, ui_locales: str | None = None
) -> str:
    """Return the path of the page that leads to `target`, a URL or path, which is encrypted in the query."""
    absolute = policy.base_url + target if target.startswith("/") else target
    claims = {"url": absolute, "until": (now + LIFE).timestamp()}
    sealed = cipher.encrypt(_PURPOSE, json.dumps(claims)).decode()
    page = policy.base_path + policy[PagesPolicy].path + "/leaving"
    return urls.with_parameters(page, target=sealed, ui_locales=ui_locales)


def target_of(ctx: Context, sealed: str) -> str:
    """Return the target URL that `leaving_url` has encrypted. Raises InvalidTarget if it was changed or has expired."""
    # Encrypted, so that an attacker cannot make a page of this origin that leads to a URL of their choice.
    text = ctx.cipher.decrypt(_PURPOSE, sealed.encode())  # defence: H15 sealed-target
    if text is None:
        raise InvalidTarget
    claims = json.loads(text)
    if ctx.now.timestamp() >= claims["until"]:  # defence: H15 target-life
        raise InvalidTarget
    return str(claims["url"])
