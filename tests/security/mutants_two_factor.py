"""Do the tests of the rows V43 to V53 notice when a defence is missing? Run by hand:

    python -m tests.security.mutants_two_factor [ROW …]

Each mutant is a copy of the tree with one defence taken out. The tests of its row run there and must fail; a mutant
that survives is a defence that nothing watches. Answers 1 when one survives, or when a patch no longer applies.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("codegen", "domain", "handlers", "models", "openapi", "server", "tests")
TESTS = ("tests/security/test_two_factor_threats.py",)
TIME_LIMIT = 600


@dataclass(frozen=True, slots=True)
class Mutant:
    """One defence of a row, and the patch that takes it out: `old`, which the file holds once, becomes `new`."""

    row: str
    defence: str
    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many tests failed (None: they could not begin), and whether the service answered 500 to one that did."""

    failed: int | None
    crashed: bool


MUTANTS = (
    Mutant(
        "V43",
        "a two-factor user passes no gate without a code",
        "domain/authentication.py",
        "if user.two_factor_enabled:",
        "if False:",
    ),
    Mutant(
        "V43",
        "a pending sign-in opens no session",
        "domain/challenges.py",
        "    return Pending(token, await",
        '    sessions.create(ctx, user, remembered=True, method="password")\n    return Pending(token, await',
    ),
    Mutant(
        "V43",
        "the pending answer clears the session cookie",
        "handlers/handover.py",
        "        cookies.clear_session(settings),\n    ]",
        "    ]",
    ),
    Mutant(
        "V43",
        "the pending token is no header of a session",
        "handlers/handover.py",
        "    if pending.forget_device:",
        '    headers.append((b"set-auth-token", pending.token.encode()))\n    if pending.forget_device:',
    ),
    Mutant(
        "V43",
        "the pending token is stored by digest",
        "domain/challenges.py",
        "            user_id=user.id,\n            remembered=remembered,",
        "            user_id=user.id,\n            email=token,\n            remembered=remembered,",
    ),
    Mutant(
        "V44",
        "a challenge has five attempts",
        "domain/challenges.py",
        "col(Grant.attempts) < ctx.policy.two_factor.challenge_attempts",
        "col(Grant.attempts) < 1_000_000",
    ),
    Mutant(
        "V44",
        "a spent challenge is deleted",
        "domain/challenges.py",
        "        await _use_up(ctx, challenge)\n        raise errors.ChallengeSpent",
        "        raise errors.ChallengeSpent",
    ),
    Mutant(
        "V44",
        "ten wrong codes lock the second factor",
        "domain/lockout.py",
        "    if failures < ctx.policy.two_factor.lock_after:",
        "    if failures:",
    ),
    Mutant(
        "V44",
        "nobody gets past a lock",
        "domain/challenges.py",
        "    lockout.refuse(ctx, row.locked_until)\n",
        "",
    ),
    Mutant(
        "V44",
        "wrong backup codes count for the lock like the others",
        "domain/verification.py",
        "await _refuse_wrong(ctx, user, errors.InvalidBackupCode)",
        "raise errors.InvalidBackupCode",
    ),
    Mutant(
        "V44",
        "wrong mail codes count for the lock like the others",
        "domain/verification.py",
        "    if not await _use_mailed(ctx, code):\n        await _refuse_wrong(ctx, user, errors.InvalidCode)",
        "    if not await _use_mailed(ctx, code):\n        raise errors.InvalidCode",
    ),
    Mutant(
        "V44",
        "the right password does not reset the count",
        "domain/challenges.py",
        "    return Pending(token, await",
        "    await lockout.forgive(ctx, user.id)\n    return Pending(token, await",
    ),
    Mutant(
        "V44",
        "a right code resets the count",
        "domain/challenges.py",
        "    await lockout.forgive(ctx, user.id)\n    opened",
        "    opened",
    ),
    Mutant(
        "V44",
        "a mail brings no new attempts",
        "domain/verification.py",
        "    await mail_codes.send(ctx, user)",
        "    await mail_codes.send(ctx, user)\n"
        "    from models import Grant\n"
        "    await ctx.db.execute(update(Grant).values(attempts=0))",
    ),
    Mutant(
        "V45",
        "an attempt is taken by one conditional statement",
        "domain/challenges.py",
        "    left = col(Grant.attempts) < ctx.policy.two_factor.challenge_attempts\n",
        "    left = col(Grant.attempts) >= (0 if challenge.attempts < 5 else 1_000_000)\n",
    ),
    Mutant(
        "V46",
        "a backup code is deleted when it is used",
        "domain/backup_codes.py",
        "    used = delete(BackupCode).where(",
        "    used = update(BackupCode).values(updated_at=ctx.now).where(",
    ),
    Mutant(
        "V46",
        "a mail code is deleted when it is used",
        "domain/mail_codes.py",
        "    used = delete(Grant).where(",
        "    used = update(Grant).values(updated_at=ctx.now).where(",
    ),
    Mutant(
        "V46",
        "a challenge is used up by its session",
        "domain/challenges.py",
        "    if not await _use_up(ctx, challenge):\n        raise errors.InvalidTwoFactorCookie\n",
        "",
    ),
    Mutant(
        "V47",
        "an accepted step is accepted once",
        "domain/verification.py",
        ".where(col(TwoFactor.user_id) == user.id, later)",
        ".where(col(TwoFactor.user_id) == user.id)",
    ),
    Mutant(
        "V47",
        "only later steps are accepted next",
        "domain/verification.py",
        "col(TwoFactor.last_step) < step)",
        "col(TwoFactor.last_step) != step)",
    ),
    Mutant(
        "V47",
        "one step either side, no more",
        "domain/authenticator.py",
        "range(present - window, present + window + 1)",
        "range(present - window - 1, present + window + 2)",
    ),
    Mutant(
        "V48",
        "an enrolment counts once it is confirmed",
        "domain/two_factor.py",
        "    backup_codes.store(ctx, user, prepared, live=False)",
        "    backup_codes.store(ctx, user, prepared, live=False)\n    enrolment.switch_on(ctx, user)",
    ),
    Mutant(
        "V48",
        "a wrong code confirms nothing",
        "domain/verification.py",
        "    elif _step_of(ctx, secret, code) is None:",
        "    elif not code:",
    ),
    Mutant(
        "V48",
        "backup codes wait for the confirmation",
        "domain/two_factor.py",
        "prepared, live=False)",
        "prepared, live=True)",
    ),
    Mutant(
        "V48",
        "a second enrolment leaves the live secret alone",
        "domain/enrolment.py",
        "    if row.has_live_secret():\n        row.new_secret",
        "    if False:\n        row.new_secret",
    ),
    Mutant(
        "V48",
        "wrong codes with a session do not lock",
        "domain/verification.py",
        "        if not await _use_step(ctx, user, secret, code):\n            raise errors.InvalidCode",
        "        if not await _use_step(ctx, user, secret, code):\n"
        "            await _refuse_wrong(ctx, user, errors.InvalidCode)",
    ),
    Mutant(
        "V49",
        "enrolling asks for the password",
        "domain/two_factor.py",
        "    stored = await passwords.check(ctx, password)\n    prepared = await backup_codes.prepare(ctx)\n"
        "    user = await _lock(ctx, stored)\n    shown_by",
        "    prepared = await backup_codes.prepare(ctx)\n    user = await users.lock_caller(ctx)\n    shown_by",
    ),
    Mutant(
        "V49",
        "switching off asks for the password",
        "domain/two_factor.py",
        "    stored = await passwords.check(ctx, password)\n    await remove(ctx, await _lock(ctx, stored))",
        "    await remove(ctx, await users.lock_caller(ctx))",
    ),
    Mutant(
        "V49",
        "showing the secret asks for the password",
        "domain/two_factor.py",
        "    stored = await passwords.check(ctx, password)\n    user = await _lock(ctx, stored)\n    row =",
        "    user = await users.lock_caller(ctx)\n    row =",
    ),
    Mutant(
        "V49",
        "new backup codes ask for the password",
        "domain/two_factor.py",
        "    stored = await passwords.check(ctx, password)\n    if not ctx.signed_in.user.two_factor_enabled:\n"
        "        raise errors.TwoFactorNotEnabled\n    prepared = await backup_codes.prepare(ctx)\n"
        "    user = await _lock(ctx, stored)\n",
        "    prepared = await backup_codes.prepare(ctx)\n    user = await users.lock_caller(ctx)\n",
    ),
    Mutant(
        "V50",
        "a reset leaves the second factor on",
        "domain/passwords.py",
        "    if ctx.policy.reset_revokes_sessions:",
        "    user.two_factor_enabled = False\n    if ctx.policy.reset_revokes_sessions:",
    ),
    Mutant(
        "V50",
        "a reset ends the sign-ins that wait for a code",
        "domain/passwords.py",
        "    Purpose.CHALLENGE,\n",
        "",
    ),
    Mutant(
        "V50",
        "a reset opens no session",
        "domain/passwords.py",
        "        await sessions.revoke_all(ctx, user.id)\n    return user\n",
        "        await sessions.revoke_all(ctx, user.id)\n"
        '    sessions.create(ctx, user, remembered=True, method="reset")\n    return user\n',
    ),
    Mutant(
        "V51",
        "the password is asked for, however fresh the session",
        "domain/passwords.py",
        "    if not await ctx.hasher.verify(password, stored) or stored is None:",
        "    fresh = ctx.signed_in.session.created_at == ctx.now\n"
        "    if stored is None or not (fresh or await ctx.hasher.verify(password, stored)):",
    ),
    Mutant(
        "V51",
        "a session is fresh for a day",
        "domain/deletion.py",
        "    return not age or ctx.now - ctx.signed_in.session.created_at <= age",
        "    return not age or ctx.now - ctx.signed_in.session.updated_at <= age",
    ),
    Mutant(
        "V52",
        "trust ends in the database",
        "domain/trusted_devices.py",
        "            col(TrustedDevice.user_id) == user_id,\n            col(TrustedDevice.expires_at) > ctx.now,\n",
        "            col(TrustedDevice.user_id) == user_id,\n",
    ),
    Mutant(
        "V52",
        "a used trust token is dead",
        "domain/trusted_devices.py",
        "        .values(\n            digest=secrets.digest(token),\n",
        "        .values(\n",
    ),
    Mutant(
        "V52",
        "switching off forgets the devices",
        "domain/two_factor.py",
        "    await trusted_devices.forget_all(ctx, user.id)\n",
        "",
    ),
    Mutant(
        "V52",
        "a new authenticator forgets the devices",
        "domain/enrolment.py",
        "    await trusted_devices.forget_all(ctx, user.id)\n",
        "",
    ),
    Mutant(
        "V52",
        "a changed or reset password forgets the devices",
        "domain/passwords.py",
        "    await trusted_devices.forget_all(ctx, user.id)\n",
        "",
    ),
    Mutant(
        "V53",
        "new codes replace the old",
        "domain/two_factor.py",
        "    await backup_codes.discard(ctx, user.id)\n    backup_codes.store(ctx, user, prepared, live=True)",
        "    backup_codes.store(ctx, user, prepared, live=True)",
    ),
    Mutant(
        "V53",
        "a confirmed enrolment ends the old codes",
        "domain/backup_codes.py",
        "    await ctx.db.execute(replaced.execution_options(synchronize_session=False))\n",
        "",
    ),
    Mutant(
        "V53",
        "switching off deletes the codes",
        "domain/two_factor.py",
        "    await backup_codes.discard(ctx, user.id)\n    await trusted_devices",
        "    await trusted_devices",
    ),
    Mutant(
        "V53",
        "codes are stored hashed",
        "server/hashing.py",
        "        return await self._run(_derive, code, salt, derivation)",
        "        return code.encode()",
    ),
)


def main(rows: list[str]) -> int:
    """Try the mutants of the given rows, or of all, and print a table; give the exit code."""
    wanted = [mutant for mutant in MUTANTS if not rows or mutant.row in rows]
    with tempfile.TemporaryDirectory(prefix="gatewright-mutants-") as directory:
        tree = _copy(Path(directory))
        outcome = _run(tree, sorted({mutant.row for mutant in wanted}))
        if outcome.failed != 0:
            print(f"The tests fail before anything is taken out ({outcome}); nothing can be learned.")
            return 1
        survivors = 0
        for mutant in wanted:
            verdict = _try(tree, mutant)
            survivors += not verdict.startswith("killed")
            print(f"{mutant.row:5}{mutant.defence:62}{verdict}", flush=True)
    print(f"{len(wanted) - survivors} of {len(wanted)} killed")
    return 1 if survivors else 0


def _copy(directory: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, directory / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", directory)
    return directory


def _try(tree: Path, mutant: Mutant) -> str:
    """Take the defence out, run the tests of its row, put it back; say what became of the mutant."""
    path = tree / mutant.file
    source = path.read_text("utf-8")
    if source.count(mutant.old) != 1:
        return f"NOT APPLIED: {mutant.file} holds the patched text {source.count(mutant.old)} times"
    path.write_text(source.replace(mutant.old, mutant.new), "utf-8")
    try:
        outcome = _run(tree, [mutant.row])
    finally:
        path.write_text(source, "utf-8")
    if outcome.failed is None:
        return "NOT RUN: the tests could not begin"
    if outcome.crashed:
        return "NOT A MUTANT: the patch breaks the service instead of the defence"
    return f"killed by {outcome.failed}" if outcome.failed else "SURVIVED"


def _run(tree: Path, rows: list[str]) -> Outcome:
    """Run the tests of these rows in the tree."""
    expression = " or ".join(f"_{row.lower()}_" for row in rows)
    finished = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", *TESTS, "-k", expression, "--tb=short"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    failed = re.search(r"(\d+) failed", finished.stdout)
    crashed = "internal_server_error" in finished.stdout
    if finished.returncode == 0:
        return Outcome(0, crashed)
    return Outcome(int(failed[1]) if failed else None, crashed)


if __name__ == "__main__":
    sys.exit(main([row.upper() for row in sys.argv[1:]]))
