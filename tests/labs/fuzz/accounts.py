"""The steps of accounts: sign up, in and out; sessions, passwords, addresses, deletion."""

from typing import Any

import httpx
from hypothesis import strategies as st

from tests.handlers.steps import bearer
from tests.labs.fuzz.base import Steps, addresses, flags, new_passwords, passwords, step, which
from tests.labs.fuzz.model import CHALLENGE, FRESH, TRUST, Challenge, Invitation, Link, Session, Trust, User
from tests.security.second_factor import PENDING, SESSION, cookie, set_cookies
from tests.security.second_factor import TRUST as TRUST_COOKIE

JUNK = ("x" * 32, "rvk_" + "x" * 32, "2fa_" + "x" * 32, "-")
MISSING = "401 INVALID_TOKEN"
DEVICES = ("none", "none", "own", "any")


class Accounts(Steps):
    """What a user does with accounts, sessions, passwords, addresses."""

    @step(2, email=addresses, password=new_passwords, named=flags)
    def sign_up(self, email: str, password: str, named: bool) -> None:
        """Make an account, unless the address or the username is taken."""
        username = email.partition("@")[0] if named else None
        body = {"name": "User", "email": email.upper(), "password": password}
        expected = "200"
        if username is not None:
            body["username"] = username
        if username is not None and self.model.has_username(username):
            expected = "400 USERNAME_IS_ALREADY_TAKEN"
        elif self.model.owner(email) is not None:
            expected = "422 USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL"
        answer = self.tell("/sign-up/email", body, None, expected, [("verify-email", email)])
        if answer is None:
            return
        user = User(answer.json()["user"]["id"], email, username, password)
        self.model.users.append(user)
        self.keep_link(user, "verify", email)
        self.open_session(user, answer, remembered=True)

    @step(
        4,
        who=which,
        password=passwords,
        by_name=flags,
        remember=flags,
        device=st.sampled_from(DEVICES),
        number=which,
    )
    def sign_in(
        self, who: int, password: str | None, by_name: bool, remember: bool, device: str, number: int
    ) -> None:
        """Sign in, from a trusted device or another: with a second factor the password is half the way."""
        user, known = self.somebody(who), self.known_device(device, number, self.somebody(who))
        is_right = password in (None, user.password) and not user.gone
        by_name = by_name and user.username is not None
        if user.gone and (
            self.model.owner(user.email) or (by_name and self.model.has_username(user.username or ""))
        ):
            return  # Somebody else has the name of a deleted user by now.
        body: dict[str, Any] = {"password": password or user.password, "rememberMe": remember}
        body |= {"username": user.username} if by_name else {"email": user.email}
        wrong = f"401 INVALID_{'USERNAME' if by_name else 'EMAIL'}_OR_PASSWORD"
        headers = cookie(TRUST_COOKIE, known.token) if known is not None else {}
        answer = self.world.post("/sign-in/username" if by_name else "/sign-in/email", body, headers)
        self.compare(f"sign-in of {user} from {known}", answer, "200" if is_right else wrong)
        if not is_right:
            return
        is_trusted = known is not None and known.user is user and known.works(self.now)
        if user.factor.on and not is_trusted:
            self.keep_challenge(user, answer, remembered=remember)
            return
        if user.factor.on and known is not None:
            known.token, known.expires = set_cookies(answer)[TRUST_COOKIE], self.now + TRUST
        self.open_session(user, answer, remembered=remember)

    @step(2, who=which)
    def outlive(self, who: int) -> None:
        """Sign in for long and for short, and come back when only the one is still good."""
        for remember in (True, False):
            self.sign_in(who, None, False, remember, "none", 0)
        self.wait("a day")

    def known_device(self, device: str, number: int, user: User) -> Trust | None:
        """Choose the device to sign in from: none that was ever trusted, one the user trusted last, or any."""
        if device == "none" or not self.model.all(Trust):
            return None
        own = self.model.all(Trust, user)
        return own[-1] if device == "own" and own else self.a(Trust, number)

    def keep_challenge(self, user: User, answer: httpx.Response, *, remembered: bool) -> None:
        """Keep a sign-in that waits for its code: it is no session in any shape."""
        body, told = answer.json(), set_cookies(answer)
        offered = ["totp", "otp"] if user.factor.secret else ["otp"]
        assert (body["pending"], body["user"], body["twoFactorMethods"]) == (True, None, offered)
        assert told[PENDING] == body["token"]
        assert not told.get(SESSION)
        assert "set-auth-token" not in answer.headers
        self.model.add(Challenge(body["token"], user, self.now + CHALLENGE, False, remembered))

    @step(2, number=which)
    def sign_out(self, number: int) -> None:
        """End one's session; who has none is told the same."""
        session = self.a(Session, number)
        self.tell("/sign-out", {}, session, "200")
        session.ended = True

    @step(3, number=which, other=which, by_handle=flags)
    def revoke_one(self, number: int, other: int, by_handle: bool) -> None:
        """End one's own session, or try with another's."""
        session, target = self.a(Session, number), self.a(Session, other)
        token = f"rvk_{target.id}" if by_handle else target.token
        told = self.act(session, "/revoke-session", {"token": token}, "200")
        if told is not None and session.user is target.user:
            target.ended = True

    @step(1, number=which, junk=st.sampled_from(JUNK))
    def revoke_nothing(self, number: int, junk: str) -> None:
        """Try to end what is no session."""
        self.act(self.a(Session, number), "/revoke-session", {"token": junk}, "200")

    @step(2, number=which, others=flags)
    def revoke_many(self, number: int, others: bool) -> None:
        """End every session of one's own, or every other."""
        session = self.a(Session, number)
        live = len(self.model.working(Session, self.now, session.user))
        told = self.act(session, "/revoke-other-sessions" if others else "/revoke-sessions", {}, "200")
        if told is not None:
            assert told.json()["count"] == live - others
            self.model.end(session.user, Session)
            session.ended = not others

    @step(2, number=which, current=passwords, new=new_passwords, others=flags)
    def change_password(self, number: int, current: str | None, new: str, others: bool) -> None:
        """Change one's password, knowing the current one or not."""
        session = self.a(Session, number)
        user = session.user
        body = {
            "currentPassword": current or user.password,
            "newPassword": new,
            "revokeOtherSessions": others,
        }
        expected = "200" if current in (None, user.password) else "400 INVALID_PASSWORD"
        told = self.act(session, "/change-password", body, expected, [("password-changed", user.email)])
        if told is None:
            return
        self.model.set_password(user, new)
        if not others:
            assert told.json()["token"] == session.token
            return
        self.model.end(user, Session)
        self.open_session(user, told, remembered=session.remembered).active = session.active

    @step(3, who=which, email=st.one_of(st.none(), addresses))
    def request_reset(self, who: int, email: str | None) -> None:
        """Ask for a reset link, for a user's address or any; only the owner of an address gets one."""
        address = email or self.somebody(who).email
        user = self.model.owner(address)
        self.tell("/request-password-reset", {"email": address}, None, "200")
        self.expect_mails([("reset-password", address)] if user is not None else [])
        if user is not None:
            self.keep_link(user, "reset", address)

    @step(4, number=which, new=new_passwords, look=flags)
    def reset(self, number: int, new: str, look: bool) -> None:
        """Look at a link and reset the password by it; it may be for something else, used, or too old."""
        resets = [link for link in self.model.all(Link) if link.kind == "reset"]
        link = resets[-1] if resets and number < 8 else self.a(Link, number)
        is_good = link.kind == "reset" and link.works(self.now)
        expected = "200" if is_good else "400 INVALID_TOKEN"
        if look:
            self.compare(f"{link}", self.world.get(f"/reset-password/{link.token}"), expected)
        body = {"token": link.token, "newPassword": new}
        mails = [("password-changed", link.user.email)]
        if self.model.is_unproven(link.user) and self.model.working(Invitation, self.now, link.user):
            mails.append(("account-secured", link.user.email))
        if self.tell("/reset-password", body, None, expected, mails) is not None:
            self.model.prove_mailbox(link.user)
            self.model.set_password(link.user, new)
            self.model.end(link.user, Session)
            link.ended = True

    @step(1, number=which, password=passwords)
    def verify_password(self, number: int, password: str | None) -> None:
        """Show one's password."""
        session = self.a(Session, number)
        is_right = password in (None, session.user.password)
        body = {"password": password or session.user.password}
        self.act(session, "/verify-password", body, "200" if is_right else "400 INVALID_PASSWORD")

    @step(1, number=which)
    def send_verification(self, number: int) -> None:
        """Ask for a link that verifies one's address."""
        session = self.a(Session, number)
        user = session.user
        if not session.works(self.now):
            return  # It would be a request without a session, for the address of whoever has it.
        expected = "400 EMAIL_ALREADY_VERIFIED" if user.verified else "200"
        mails = [("verify-email", user.email)]
        if self.act(session, "/send-verification-email", {"email": user.email}, expected, mails) is not None:
            self.keep_link(user, "verify", user.email)

    @step(3, number=which, signed_in=flags, by=which)
    def open_link(self, number: int, signed_in: bool, by: int) -> None:
        """Open a link to verify or change an address, signed in as whoever, or not."""
        link, session = self.a(Link, number), self.a(Session, by) if signed_in else None
        caller = None
        if session is not None and session.works(self.now):
            caller = session.user
            session.touch(self.now)
        expected, old = self.verdict(link, caller), link.user.email
        answer = self.world.get(
            "/verify-email", bearer(session.token) if session is not None else {}, token=link.token
        )
        self.compare(f"{link} opened by {caller}", answer, expected)
        if expected != "200":
            return
        if link.kind == "verify":
            link.user.verified = True
        else:
            self.model.set_email(link.user, link.email, verified=True)
            self.expect_mails([("email-changed", old)])

    def verdict(self, link: Link, caller: User | None) -> str:
        """Return what a link to verify or change an address must answer."""
        if link.kind == "reset" or link.ended or link.user.gone:
            return MISSING
        if link.expires <= self.now:
            return "401 TOKEN_EXPIRED"
        if link.kind == "change" and caller not in (None, link.user):
            return "401 INVALID_USER"
        return MISSING if link.kind == "change" and self.model.owner(link.email) else "200"

    @step(2, number=which, email=addresses)
    def change_email(self, number: int, email: str) -> None:
        """Move to another address: at once from an unverified one, otherwise by a link."""
        session = self.a(Session, number)
        user, old, is_taken = session.user, session.user.email, self.model.owner(email) is not None
        mails = [("change-email", email)]
        if not user.verified:
            mails = [("email-changed", old), ("verify-email", email)]
        expected = "400 VALIDATION_ERROR" if email == old else "200"
        told = self.act(session, "/change-email", {"newEmail": email}, expected, [] if is_taken else mails)
        if told is None:
            return
        if is_taken or user.verified:
            self.model.end_links(user, "change")
        if is_taken:
            return
        if user.verified:
            self.keep_link(user, "change", email)
        else:
            self.model.set_email(user, email, verified=False)
            self.keep_link(user, "verify", email)

    @step(1, number=which, name=st.sampled_from(("User", "Somebody", "Else")))
    def rename(self, number: int, name: str) -> None:
        """Change one's own name."""
        session = self.a(Session, number)
        if self.act(session, "/update-user", {"name": name}, "200") is not None:
            session.user.name = name

    @step(1, number=which, password=passwords, is_sent=flags)
    def delete(self, number: int, password: str | None, is_sent: bool) -> None:
        """Delete one's account, with the password or by a fresh session."""
        session = self.a(Session, number)
        user, expected = session.user, "200"
        if sum(not one.gone for one in self.model.users) < 3:
            return
        if is_sent and password not in (None, user.password):
            expected = "400 INVALID_PASSWORD"
        elif self.model.is_kept(user):
            expected = "400 YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER"
        elif not is_sent and self.now - session.created > FRESH:
            expected = "400 SESSION_EXPIRED"
        body = {"password": password or user.password} if is_sent else {}
        if self.act(session, "/delete-user", body, expected) is not None:
            self.model.delete(user)
