"""The lock of the second factor: after ten wrong codes in a row, codes are refused for 15 minutes."""

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
    """Return whether the lock is active now."""
    return locked_until is not None and ctx.now < locked_until


def refuse(ctx: Context, row: TwoFactorRow) -> None:
    """Refuse every code while the lock is active. Raises AccountTemporarilyLocked."""
    if row.locked_until is not None and is_locked(ctx, row.locked_until):
        wait = math.ceil((row.locked_until - ctx.now).total_seconds())
        events.two_factor_refused(ctx, row.user_id, AccountTemporarilyLocked)
        raise AccountTemporarilyLocked(retry_after=wait)


async def count_wrong(ctx: Context, user: UserRow, method: str) -> None:
    """Count a wrong code of a method for a user whose row is locked; at the limit, lock and notify the user."""
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
