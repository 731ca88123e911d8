"""The lock of the second factor: after `lock_after` wrong codes in a row, codes are refused for `lock_for`."""

import math
from datetime import datetime

from sqlalchemy import update
from sqlmodel import col

from domain.context import Context
from domain.two_factor import events, mails
from domain.two_factor.errors import AccountTemporarilyLocked
from domain.two_factor.policy import TwoFactorPolicy
from models import TwoFactor
from models.two_factor import TwoFactorRow
from models.user import UserRow


def is_locked(ctx: Context, locked_until: datetime | None) -> bool:
    """Return whether a lock until this time is active now; None is no lock."""
    return locked_until is not None and ctx.now < locked_until


def refuse(ctx: Context, row: TwoFactorRow) -> None:
    """Audit and raise AccountTemporarilyLocked if the second factor is locked."""
    if row.locked_until is not None and is_locked(ctx, row.locked_until):
        wait = math.ceil((row.locked_until - ctx.now).total_seconds())
        events.two_factor_refused(ctx, row.user_id, AccountTemporarilyLocked)
        raise AccountTemporarilyLocked(retry_after=wait)


async def count_wrong(ctx: Context, user: UserRow, method: str) -> None:
    """Count a wrong code for a user whose row is locked; at the limit, lock the second factor and notify the user."""
    counted = update(TwoFactor).where(col(TwoFactor.user_id) == user.id)
    more = counted.values(failures=col(TwoFactor.failures) + 1).returning(col(TwoFactor.failures))
    failures = (await ctx.db.execute(more)).scalar()
    # Counted per account over all challenges; otherwise each new sign-in would bring five more guesses (as in
    # Zitadel, CVE-2024-32868).
    if failures < ctx.policy[TwoFactorPolicy].lock_after:  # defence: V44 lock-after
        return
    until = ctx.now + ctx.policy[TwoFactorPolicy].lock_for
    # The count is reset now, so that it starts from zero when the lock ends.
    await ctx.db.execute(counted.values(failures=0, locked_until=until, updated_at=ctx.now))
    await mails.second_factor_locked(ctx, user, until)
    events.two_factor_locked(ctx, user.id, method)


async def reset_failures(ctx: Context, user_id: str) -> None:
    """Reset the count of wrong codes after a valid one."""
    stale = update(TwoFactor).where(col(TwoFactor.user_id) == user_id, col(TwoFactor.failures) > 0)
    await ctx.db.execute(stale.values(failures=0))
