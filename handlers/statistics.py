"""The operations of openapi/paths/statistics.yaml: figures of the service, for administrators."""

from domain.context import Context
from domain.statistics import statistics
from domain.statistics.statistics import Day
from handlers import shapes, wire


# statistics.get
async def get(ctx: Context) -> shapes.Statistics:
    """Return the statistics of the service."""
    found = await statistics.get(ctx)
    return {
        "countedAt": wire.instant(found.counted_at),
        "users": found.users,
        "usersOfDay": found.users_of_day,
        "usersOfMonth": found.users_of_month,
        "activeSessions": found.active_sessions,
        "signInsOfDay": found.sign_ins_of_day,
        "failuresOfDay": found.failures_of_day,
        "mailsWaiting": found.mails_waiting,
        "mailsFailed": found.mails_failed,
        "days": None if found.days is None else [_day(day) for day in found.days],
    }


def _day(day: Day) -> shapes.StatisticsOfDay:
    return {
        "day": day.day.date().isoformat(),
        "signUps": day.sign_ups,
        "signIns": [{"method": method, "count": number} for method, number in day.sign_ins.items()],
        "failures": [{"code": code, "count": number} for code, number in day.failures.items()],
    }
