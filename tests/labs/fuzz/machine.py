"""The whole machine: the steps of accounts and organizations, and those of the second factor."""

import httpx
import pyotp
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.handlers.steps import bearer
from tests.labs.fuzz.accounts import Accounts
from tests.labs.fuzz.base import Mails, Step, flags, passwords, step, steps_of, which
from tests.labs.fuzz.model import (
    LOCK,
    LOCK_AFTER,
    PERIOD,
    TRIES,
    TRUST,
    Challenge,
    Factor,
    Role,
    Session,
    Thing,
    Trust,
    User,
    step_of,
    use_step,
)
from tests.labs.fuzz.organizations import Organizations
from tests.security.second_factor import TRUST as TRUST_COOKIE
from tests.security.second_factor import WRONG_BACKUP_CODE, secret_in, set_cookies

NO_CHALLENGE = "401 INVALID_TWO_FACTOR_COOKIE"
SPENT = "400 TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE"
LOCKED = "429 ACCOUNT_TEMPORARILY_LOCKED"
WRONG = {"totp": "401 INVALID_CODE", "otp": "401 INVALID_CODE", "backup-code": "401 INVALID_BACKUP_CODE"}
NOTHING_SET = {
    "totp": "400 TOTP_NOT_ENABLED",
    "otp": "400 OTP_HAS_EXPIRED",
    "backup-code": "400 BACKUP_CODES_NOT_ENABLED",
}

methods = st.sampled_from(sorted(WRONG))
choices = st.sampled_from(("right", "right", "right", "used", "wrong", "waiting", "another's"))
shifts = st.sampled_from((0, 0, 0, -1, 1, -2, 2))


class Factors(Accounts):
    """What a user does with a second factor."""

    @step(2, number=which, password=passwords, method=st.sampled_from(("totp", "otp")))
    def enable(self, number: int, password: str | None, method: str) -> None:
        """Begin an enrolment, or switch on with codes by mail."""
        session = self.a(Session, number)
        user, factor = session.user, session.user.factor
        expected = "200"
        if password not in (None, user.password):
            expected = "400 INVALID_PASSWORD"
        elif method == "otp" and not user.verified:
            expected = "403 EMAIL_NOT_VERIFIED"
        is_news = method == "otp" and not factor.on
        mails = [("two-factor-changed", user.email)] if is_news else []
        body = {"password": password or user.password, "method": method}
        told = self.act(session, "/two-factor/enable", body, expected, mails)
        if told is None:
            return
        codes = told.json()["backupCodes"]
        if method == "totp":
            factor.waiting, factor.waiting_backup = secret_in(told.json()["totpURI"]), codes
        else:
            factor.on, factor.backup, factor.waiting_backup = True, codes, []

    @step(1, number=which, password=passwords)
    def disable(self, number: int, password: str | None) -> None:
        """Switch the second factor off."""
        session = self.a(Session, number)
        user = session.user
        expected = "200" if password in (None, user.password) else "400 INVALID_PASSWORD"
        mails = [("two-factor-changed", user.email)] if user.factor.on else []
        body = {"password": password or user.password}
        if self.act(session, "/two-factor/disable", body, expected, mails) is not None:
            self.model.disable(user)

    @step(1, number=which)
    def renew_backup_codes(self, number: int) -> None:
        """Replace one's backup codes."""
        session = self.a(Session, number)
        user = session.user
        expected = "200" if user.factor.on else "400 TWO_FACTOR_NOT_ENABLED"
        body = {"password": user.password}
        told = self.act(session, "/two-factor/generate-backup-codes", body, expected)
        if told is not None:
            user.factor.used += user.factor.backup
            user.factor.backup, user.factor.waiting_backup = told.json()["backupCodes"], []

    @step(1, number=which)
    def ask_for_code_under_session(self, number: int) -> None:
        """Have a code mailed while signed in."""
        session = self.a(Session, number)
        user, expected = session.user, NO_CHALLENGE
        if session.works(self.now):
            session.touch(self.now)
            expected = "200" if user.factor.on or user.factor.waiting else "400 TWO_FACTOR_NOT_ENABLED"
        if self.tell("/two-factor/send-otp", {}, session, expected, [("otp", user.email)]) is not None:
            self.keep_mailed_code(session)

    @step(2, number=which)
    def ask_for_code(self, number: int) -> None:
        """Have a code mailed halfway through a sign-in."""
        if not self.model.all(Challenge):
            return
        challenge = self.a(Challenge, number)
        expected, mails = self.halted(challenge) or "200", [("otp", challenge.user.email)]
        if self.tell("/two-factor/send-otp", {}, challenge, expected, mails) is not None:
            self.keep_mailed_code(challenge)

    @step(3, number=which, method=methods, choice=choices, shift=shifts)
    def enter_under_session(self, number: int, method: str, choice: str, shift: int) -> None:
        """Enter a code while signed in: it confirms what waits, or is only checked."""
        session = self.a(Session, number)
        user, entered, expected = session.user, self.some_code(session, method, choice, shift), NO_CHALLENGE
        was_on = user.factor.on
        if session.works(self.now):
            session.touch(self.now)
            expected = self.check(session, method, entered)
        mails = [("two-factor-changed", user.email)] if user.factor.on and not was_on else []
        told = self.tell(f"/two-factor/verify-{method}", {"code": entered}, session, expected, mails)
        if told is not None:
            assert told.json()["token"] == session.token
            user.factor.failures = 0

    @step(6, number=which, method=methods, choice=choices, shift=shifts, trust=flags)
    def enter(self, number: int, method: str, choice: str, shift: int, trust: bool) -> None:
        """Enter a code to finish a sign-in."""
        if not self.model.all(Challenge):
            return
        challenge = self.a(Challenge, number)
        user, entered = challenge.user, self.some_code(challenge, method, choice, shift)
        expected, mails = self.try_code(challenge, method, entered)
        body = {"code": entered, "trustDevice": trust}
        answer = self.world.post(f"/two-factor/verify-{method}", body, bearer(challenge.token))
        self.compare(f"verify-{method} by {challenge} with one that is {choice}", answer, expected)
        if mails:
            self.expect_mails(mails)
        if expected == "200":
            challenge.ended, user.factor.failures = True, 0
            self.keep_trust(user, answer, wanted=trust)
            self.open_session(user, answer, remembered=challenge.remembered)

    @step(4, who=which, method=methods, trust=flags)
    def come_in(self, who: int, method: str, trust: bool) -> None:
        """Sign in all the way."""
        user = self.somebody(who)
        if user.gone:
            return
        self.sign_in(who, None, False, True, "none", 0)
        if user.factor.on:
            if method == "otp":
                self.ask_for_code(0)
            self.enter(0, method, "right", 0, trust)

    def keep_trust(self, user: User, answer: httpx.Response, *, wanted: bool) -> None:
        """Keep the trusted device, if the answer makes one as wanted."""
        token = set_cookies(answer).get(TRUST_COOKIE)
        assert bool(token) == wanted
        if token:
            self.model.add(Trust(token, user, self.now + TRUST))

    def some_code(self, bound: Thing, method: str, choice: str, shift: int) -> str:
        """Choose a code to enter: a right one, or one of those that must not work."""
        owner = bound.user
        if choice == "another's":
            owner = next((user for user in self.model.users if user is not owner and user.factor.on), owner)
        factor = owner.factor
        if method == "totp":
            secret = factor.waiting if choice == "waiting" else factor.secret or factor.waiting
            return _shown(secret, int(self.now.timestamp()) + PERIOD * shift, choice)
        if method == "otp":
            mailed = self.model.code_for(bound, self.now)
            others = [one for one in reversed(self.model.things) if one.token.isdigit() and one is not mailed]
            wanted = mailed if choice in ("right", "waiting") else next(iter(others), None)
            return wanted.token if wanted is not None and choice != "wrong" else "000000"
        codes = {"used": factor.used, "waiting": factor.waiting_backup}.get(choice, factor.backup)
        return codes[0] if codes and choice != "wrong" else WRONG_BACKUP_CODE

    def halted(self, challenge: Challenge) -> str | None:
        """Return what keeps a pending sign-in from going on, whatever is entered."""
        if not challenge.works(self.now):
            return NO_CHALLENGE
        return LOCKED if self.now < challenge.user.factor.locked_until else None

    def try_code(self, challenge: Challenge, method: str, entered: str) -> tuple[str, Mails]:
        """Return what a code must answer that is entered halfway through a sign-in, and count the attempt."""
        factor = challenge.user.factor
        halted = self.halted(challenge) or self.not_set_up(challenge, method)
        if halted is not None:
            return halted, []
        if challenge.attempts >= TRIES:
            challenge.ended = True
            return SPENT, []
        challenge.attempts += 1
        verdict = self.check(challenge, method, entered)
        if verdict == "200":
            return verdict, []
        factor.failures += 1
        if factor.failures < LOCK_AFTER:
            return verdict, []
        factor.failures, factor.locked_until = 0, self.now + LOCK
        return verdict, [("second-factor-locked", challenge.user.email)]

    def not_set_up(self, bound: Thing, method: str) -> str | None:
        """Return the refusal where there is nothing to compare a code of this method with, None elsewhere."""
        factor = bound.user.factor
        secret = factor.secret if isinstance(bound, Challenge) else factor.waiting or factor.secret
        there = {"totp": secret, "otp": self.model.code_for(bound, self.now), "backup-code": factor.backup}
        return None if there[method] else NOTHING_SET[method]

    def check(self, bound: Thing, method: str, entered: str) -> str:
        """Return what a code must answer, and use it up if it is right."""
        missing = self.not_set_up(bound, method)
        if missing is not None:
            return missing
        checks = {"totp": self.check_totp, "otp": self.check_mailed, "backup-code": self.check_backup}
        return checks[method](bound, entered)

    def check_totp(self, bound: Thing, entered: str) -> str:
        """Check a code of the authenticator; under a session, one of the secret that waits confirms it."""
        factor = bound.user.factor
        if isinstance(bound, Session) and factor.waiting:
            if step_of(factor.waiting, entered, self.now) is None:
                return WRONG["totp"]
            self.model.confirm(bound.user, by_app=True)
            return "200"
        return "200" if use_step(factor, factor.secret or "", entered, self.now) else WRONG["totp"]

    def check_mailed(self, bound: Thing, entered: str) -> str:
        """Check a mailed code; under a session it confirms a first enrolment that waits."""
        mailed, factor = self.model.code_for(bound, self.now), bound.user.factor
        assert mailed is not None
        if mailed.tries >= TRIES:
            mailed.ended = True
            return SPENT
        mailed.tries += 1
        if mailed.token != entered:
            return WRONG["otp"]
        mailed.ended = True
        if isinstance(bound, Session) and factor.waiting and not factor.on:
            self.model.confirm(bound.user, by_app=False)
        return "200"

    def check_backup(self, bound: Thing, entered: str) -> str:
        """Check a backup code."""
        factor: Factor = bound.user.factor
        if entered not in factor.backup:
            return WRONG["backup-code"]
        factor.backup = [one for one in factor.backup if one != entered]
        factor.used.append(entered)
        return "200"


def _shown(secret: str | None, moment: int, choice: str) -> str:
    """Return what an authenticator shows at a moment, or six digits for one that is not there."""
    return pyotp.TOTP(secret).at(moment) if secret is not None and choice != "wrong" else "000000"


class Everything(Factors, Organizations):
    """All steps."""


class Machine(Everything):
    """Everything, with two users and an organization to begin with: so that depth is not all set-up."""

    @initialize(is_verified=flags)
    def settle(self, is_verified: bool) -> None:
        """Create a user without a second factor, and one with an authenticator whose organization the first joins."""
        self.sign_up("eve@example.com", "seven red bicycles", False)
        self.sign_up("ada@example.com", "correct horse battery", True)
        if is_verified:
            self.open_link(0, False, 0)
        self.enable(0, None, "totp")
        self.enter_under_session(0, "totp", "waiting", 0)
        self.create_organization(0, "acme")
        self.invite(0, 0, "eve@example.com", Role.ADMIN, False)
        self.accept(0, 0, True, True)

    @rule(step=steps_of(Everything))
    def do(self, step: Step) -> None:
        """Do whatever comes next."""
        name, arguments = step
        getattr(self, name)(**arguments)
