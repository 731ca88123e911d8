"""The page that runs the checks of `gatewright doctor` and shows the findings."""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.context import Context
from domain.doctor import doctor
from domain.doctor.doctor import Finding
from domain.localization import N_
from handlers.console import layout
from handlers.console.registry import NavigationItem, Panel
from handlers.console.view import ConsoleView, view
from handlers.responses.reply import Page

_PERMISSION = ("service", "manage")
_VERDICTS = {
    "wrong": (N_("Wrong"), "warn"),
    "warning": (N_("Warning"), "caution"),
    "skipped": (N_("Not checked"), "off"),
    "ok": (N_("OK"), ""),
}
"""The label and the kind of badge for each verdict, the worst first."""


# console.doctor.show
async def show(ctx: Context, ui_locales: str | None = None) -> Page:
    """Run the checks of the installation, and show the findings, the worst first."""
    here = view(ctx, "/doctor", ui_locales)
    report = await doctor.run(ctx)
    return layout.render(
        ctx,
        here,
        "doctor/findings.html",
        report=report,
        findings=_worst_first(report.findings),
        verdicts=_verdicts(here),
        bad=len(_bad(report.findings)),
    )


def _worst_first(findings: Sequence[Finding]) -> Sequence[Finding]:
    order = list(_VERDICTS)
    return sorted(findings, key=lambda finding: order.index(finding.verdict))


def _bad(findings: Sequence[Finding]) -> Sequence[Finding]:
    return [finding for finding in findings if finding.verdict in ("wrong", "warning")]


def _verdicts(here: ConsoleView) -> Mapping[str, tuple[str, str]]:
    return {name: (here.localization.gettext(text), kind) for name, (text, kind) in _VERDICTS.items()}


async def _last(ctx: Context, here: ConsoleView) -> Mapping[str, Any]:
    """Return the findings of the last run as template values; the checks take too long to run for the overview."""
    report = doctor.last(ctx)
    return {
        "report": report,
        "findings": _worst_first(_bad(report.findings if report else ())),
        "verdicts": _verdicts(here),
        "all_url": here.url("/doctor"),
    }


NAVIGATION = (NavigationItem(path="/doctor", label=N_("Doctor"), permission=_PERMISSION, position=90),)
PANELS = (Panel(name="doctor", label=N_("Findings"), permission=_PERMISSION, position=30, load=_last),)
