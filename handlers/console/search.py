"""The search box of the console: it runs the searches that modules declare in `SEARCHES`."""

from domain.admin.errors import SearchTooBroad
from domain.context import Context
from handlers.console import layout, registry
from handlers.console.view import view
from handlers.responses.reply import Page, Redirect


# console.search.show
async def show(ctx: Context, ui_locales: str | None = None, search: str | None = None) -> Page | Redirect:
    """Show the best results of each kind; redirect to the result if there is only one."""
    text = (search or "").strip()
    here = view(ctx, "/search", ui_locales, search=text or None)
    kinds = []
    for kind in registry.searches(ctx) if text else ():
        label = here.localization.gettext(kind.label)
        try:
            hits, is_too_broad = await kind.find(ctx, here, text), False
        except SearchTooBroad:
            hits, is_too_broad = (), True
        kinds.append((label, here.url(kind.list_path, search=text), hits, is_too_broad))
    every = [hit for _, _, hits, _ in kinds for hit in hits]
    if len(every) == 1 and not any(is_too_broad for *_, is_too_broad in kinds):
        return Redirect(every[0].url)
    return layout.render(ctx, here, "search/results.html", search=text, kinds=kinds)
