"""The checks of the installation."""

from domain.context import Context
from domain.doctor import doctor
from domain.localization import N_
from handlers.console import layout
from handlers.console.registry import NavigationItem
from handlers.console.view import view
from handlers.responses.reply import Page

NAVIGATION = (
    NavigationItem(path="/doctor", label=N_("Doctor"), permission=("service", "manage"), position=90),
)

_VERDICTS = {
    "wrong": (N_("Wrong"), "warn"),
    "warning": (N_("Warning"), "caution"),
    "skipped": (N_("Not checked"), "off"),
    "ok": (N_("OK"), ""),
}
"""The words for the verdicts, and the kinds of their badges, the worst first."""


# console.doctor.show
async def show(ctx: Context, ui_locales: str | None = None) -> Page:
    """Show the findings, the worst first."""
    here = view(ctx, "/doctor", ui_locales)
    report = await doctor.run(ctx)
    order = list(_VERDICTS)
    return layout.render(
        ctx,
        here,
        "doctor/findings.html",
        report=report,
        findings=sorted(report.findings, key=lambda finding: order.index(finding.verdict)),
        verdicts={name: (here.localization.gettext(text), kind) for name, (text, kind) in _VERDICTS.items()},
        bad=sum(finding.verdict in ("wrong", "warning") for finding in report.findings),
    )
