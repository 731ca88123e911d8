"""The operations of openapi/paths/doctor.yaml: run the checks of `gatewright doctor` for an administrator."""

from domain.context import Context
from domain.doctor import doctor
from handlers import shapes, wire


# doctor.run
async def run(ctx: Context) -> shapes.DoctorReport:
    """Run the checks of the installation, and return their findings."""
    report = await doctor.run(ctx)
    return {
        "checkedAt": wire.instant(report.checked_at),
        "findings": [
            {"check": one.check, "verdict": one.verdict, "found": one.found, "fix": one.fix}
            for one in report.findings
        ],
    }
