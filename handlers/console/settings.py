"""The page with the settings in force."""

from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.instances import instances
from domain.localization import N_
from domain.settings import settings
from domain.settings.settings import SettingInForce
from handlers.console import layout
from handlers.console.registry import NavigationItem
from handlers.console.view import view
from handlers.responses.reply import Page

NAVIGATION = (
    NavigationItem(path="/settings", label=N_("Settings"), permission=("service", "manage"), position=80),
)


# console.settings.show_list
async def show_list(
    ctx: Context, ui_locales: str | None = None, search: str | None = None, changed: str | None = None
) -> Page:
    """Show the settings by group: those whose key or origin contains `search`.

    If `changed` is `true`, settings whose source is `default` are left out.
    """
    text, only_changed = (search or "").strip(), changed == "true"
    here = view(ctx, "/settings", ui_locales, search=text or None, changed="true" if only_changed else None)
    found = [
        one
        for one in settings.list_settings(ctx)
        if (text.lower() in one.key.lower() or text.lower() in one.origin.lower())
        and not (only_changed and one.source == "default")
    ]
    docs = ctx.policy[ConsolePolicy].docs_url
    groups: dict[str, list[SettingInForce]] = {}
    for one in found:
        groups.setdefault(one.group, []).append(one)
    running = await instances.list_instances(ctx)
    values = {
        "groups": list(groups.items()),
        "text": text,
        "only_changed": only_changed,
        "instances": running,
        "differences": instances.differences(running),
    }
    reference = docs and f"{docs.rstrip('/')}/reference/settings.html"
    return layout.render(ctx, here, "settings/list.html", values=values, reference=reference)
