"""Look-ups for the pipeline: sessions, pending two-factor sign-ins, and API keys."""

import asyncio
import contextlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from domain import errors, tokens
from domain.admin import impersonation
from domain.api_keys import verification
from domain.context import Caller, Challenge, RequestFacts, Runner
from domain.policy import Policy
from domain.ports import Database
from domain.sessions import expiry, sessions
from domain.sessions.policy import SessionPolicy
from domain.two_factor import challenges
from handlers.responses import cookies
from models.session import SessionRow
from models.user import UserRow
from server.api.request import Request


@dataclass(frozen=True, slots=True)
class SessionStore:
    """Finds sessions in the database, deletes expired sessions, and extends sessions that are due for an extension."""

    policy: Policy
    database: Database
    run: Runner

    async def find(self, sent: Sequence[str], now: datetime, *, by_cookie: bool) -> Caller | None:
        """Return the caller of the only session of these tokens that is live at `now`; None if none or several are.

        Deletes sessions of these tokens that are no longer live.
        """
        if len(sent) == 1:
            token = sent[0]
            # defence: V35 V36 V38 JWT3 JWT6 session-lookup
            rows = await sessions.stored(self.database.reads, token)
            return None if rows is None else await self._live(Caller(token, *rows, by_cookie), now)
        known = await sessions.presented(self.database.reads, sent)
        live = [caller for each in known if (caller := await self._live(each, now)) is not None]
        # A sibling host may have planted one of several cookies; with two live sessions it is unknown which one the
        # browser's user means.
        return live[0] if len(live) == 1 else None  # defence: V27 V41 one-session

    async def _live(self, caller: Caller, now: datetime) -> Caller | None:
        """Return the caller if the session is live at `now`; otherwise delete it."""
        session, user = caller.session, caller.user
        over = None
        if session.is_active(now) and not user.is_banned(now):  # defence: V33 session-ban
            # defence: ADM7 second-read
            over = session.impersonated_by and await self._impersonation_over(session, user, now)
            if not over:
                return caller
        # The response is 401 either way; the clean-up removes the row later.
        with contextlib.suppress(errors.Unavailable):
            await self.run(
                partial(impersonation.end, session=session, reason=over)
                if over
                else partial(sessions.discard, session_id=session.id)
            )
        return None

    async def _impersonation_over(self, session: SessionRow, user: UserRow, now: datetime) -> str | None:
        return await impersonation.refusal(self.policy, self.database.reads, session, user, now)

    def extension(self, request: Request, caller: Caller) -> datetime | None:
        """Return the new expiry of the caller's session if the request extends it, or None."""
        session = caller.credential
        if request.disable_refresh or not isinstance(session, SessionRow):
            return None
        return expiry.next_expiry(self.policy[SessionPolicy], session, request.now)

    async def extend(self, request: Request, caller: Caller, expires_at: datetime) -> None:
        """Extend the caller's session and its cookie, also if the request fails later.

        If the write fails, the request continues with the unchanged session, because it may only need to read.
        """
        try:
            job = partial(expiry.extend, session=caller.session, expires_at=expires_at)
            await self.run(job, RequestFacts(request.now))
        except errors.Unavailable:
            # Reads must keep working on a full disk or a locked file.
            return  # defence: R5 failed-extension
        if caller.by_cookie:
            max_age = int((expires_at - request.now).total_seconds())
            request.cookies.append(cookies.set_session(self.policy.cookies, caller.token, max_age=max_age))
        session = caller.session._replace(expires_at=expires_at, updated_at=request.now)
        request.caller = replace(caller, credential=session)


@dataclass(frozen=True, slots=True)
class ChallengeStore:
    """Finds pending two-factor sign-ins in the database."""

    database: Database

    async def find(self, sent: Sequence[str], now: datetime, *, by_cookie: bool) -> Challenge | None:
        """Return the only live challenge of these pending tokens; None if none or several are live."""
        rows = await asyncio.gather(*(challenges.find(self.database.reads, token, now) for token in sent))
        live = [challenge for challenge in rows if challenge is not None]
        return live[0] if len(live) == 1 else None  # defence: V27 one-challenge


@dataclass(frozen=True, slots=True)
class KeyStore:
    """Finds API keys in the database, and services that verify API keys by their configured tokens."""

    run: Runner
    are_sessions: bool
    verifiers: Sequence[tuple[str, bytes]]
    """The names of services, each with the SHA-256 of its verifier token."""

    async def find(self, key: str, request: Request) -> Caller:
        """Return the caller with this key, and count one use.

        Raises the refusal that says why a key is not accepted, and Unavailable.
        """
        job = partial(verification.authenticate, text=key)
        return await self.run(job, RequestFacts(request.now, request.client))

    def verifier(self, token: str) -> str | None:
        """Return the name of the service that has this verifier token, or None. Always compares with all tokens."""
        digest = tokens.digest(token)
        # Digests of equal length, compared in constant time, and all of them: the time shows nothing about any token.
        # defence: KEY10 KEY14 KEY24 compare
        matching = [name for name, expected in self.verifiers if hmac.compare_digest(digest, expected)]
        return matching[0] if matching else None
