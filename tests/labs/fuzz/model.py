"""What must be true: users, sessions, mailed links, factors, as plain as they can be said, without any of the service.

Times are those of the test's clock. Nothing here is ever removed: what has ended stays, to be tried again.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Literal, TypeVar

import pyotp

SLIDING = timedelta(days=7)
UPDATE_AGE = timedelta(days=1)
ABSOLUTE = timedelta(days=90)
FRESH = timedelta(days=1)
TOLD = timedelta(days=7)
"""How long the service can tell an expired link from an unknown one."""
LIVES = {"reset": timedelta(hours=24), "verify": timedelta(hours=1), "change": timedelta(hours=1)}
CHALLENGE = timedelta(minutes=10)
MAIL_CODE = timedelta(minutes=3)
TRUST = timedelta(days=30)
INVITATION = timedelta(hours=48)
LOCK = timedelta(minutes=15)
TRIES = 5
LOCK_AFTER = 10
PERIOD = 30
LONG_AGO = datetime.min.replace(tzinfo=UTC)

Kind = Literal["reset", "verify", "change"]


@dataclass(eq=False)
class Factor:
    """A user's second factor: what counts, and what waits to be confirmed."""

    on: bool = False
    secret: str | None = None
    waiting: str | None = None
    backup: list[str] = field(default_factory=list)
    waiting_backup: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    """Backup codes that worked once."""
    last_step: int = 0
    failures: int = 0
    locked_until: datetime = LONG_AGO


@dataclass(eq=False, repr=False)
class User:
    """One person's account."""

    id: str
    email: str
    username: str | None
    password: str
    verified: bool = False
    gone: bool = False
    name: str = "User"
    factor: Factor = field(default_factory=Factor)

    def __repr__(self) -> str:
        """Name it by its address."""
        return f"<{self.email}>"


@dataclass(eq=False, repr=False)
class Thing:
    """Something one can hold that works for a while: a session, a link, a pending sign-in, a trusted device."""

    token: str
    user: User
    expires: datetime
    ended: bool = False

    def works(self, now: datetime) -> bool:
        """Return whether it is good for anything."""
        return not self.ended and not self.user.gone and now < self.expires

    def __repr__(self) -> str:
        """Name it by its kind and user."""
        return f"<{type(self).__name__} of {self.user.email}>"


@dataclass(eq=False, repr=False)
class Session(Thing):
    """A session; `id` as the service told it."""

    id: str = ""
    created: datetime = LONG_AGO
    remembered: bool = True
    active: "Organization | None" = None

    def touch(self, now: datetime) -> None:
        """Be used: the end moves, once a day has passed."""
        if self.remembered and now >= self.expires - SLIDING + UPDATE_AGE:
            self.expires = max(self.expires, min(now + SLIDING, self.created + ABSOLUTE))


@dataclass(eq=False, repr=False)
class Link(Thing):
    """A mailed link; `email` is the address it proves, or the new one."""

    kind: Kind = "reset"
    email: str = ""


@dataclass(eq=False, repr=False)
class Challenge(Thing):
    """A sign-in that waits for its code."""

    remembered: bool = True
    attempts: int = 0


@dataclass(eq=False, repr=False)
class Trust(Thing):
    """A trusted device."""


@dataclass(eq=False, repr=False)
class MailCode(Thing):
    """A mailed code (`token`), good for one session or one pending sign-in."""

    bound: Thing | None = None
    tries: int = 0


class Role(IntEnum):
    """A role in an organization; each one has the powers of those below it."""

    MEMBER = 1
    ADMIN = 2
    OWNER = 3


@dataclass(eq=False, repr=False)
class Organization:
    """An organization with its members, and the ids that these have there."""

    id: str
    slug: str
    members: dict[User, Role] = field(default_factory=dict)
    ids: dict[User, str] = field(default_factory=dict)
    gone: bool = False

    def __repr__(self) -> str:
        """Name it by its slug."""
        return f"<{self.slug}>"

    def role_of(self, user: User) -> Role | None:
        """Return the role of a user; None for one who is no member, or if the organization is gone."""
        return None if self.gone else self.members.get(user)

    def is_only_owner(self, user: User) -> bool:
        """Return whether a user is an owner, and no other member is one."""
        owners = [member for member, role in self.members.items() if role == Role.OWNER]
        return not self.gone and owners == [user]


@dataclass(eq=False, repr=False)
class Invitation(Thing):
    """An invitation by a user; the token is its id, the secret is in its newest mail."""

    secret: str = ""
    email: str = ""
    role: Role = Role.MEMBER
    organization: Organization = field(default_factory=lambda: Organization("", ""))


AnyThing = TypeVar("AnyThing", bound=Thing)


@dataclass
class Model:
    """Everything there is, in the order in which it came."""

    users: list[User] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)
    organizations: list[Organization] = field(default_factory=list)

    def add(self, thing: AnyThing) -> AnyThing:
        """Keep a new thing."""
        self.things.append(thing)
        return thing

    def all(self, kind: type[AnyThing], user: User | None = None) -> list[AnyThing]:
        """Return the things of a kind, of one user or of all, working or not."""
        return [one for one in self.things if isinstance(one, kind) and user in (None, one.user)]

    def working(self, kind: type[AnyThing], now: datetime, user: User | None = None) -> list[AnyThing]:
        """Return those that work now."""
        return [one for one in self.all(kind, user) if one.works(now)]

    def ended(self, kind: type[AnyThing], now: datetime) -> list[AnyThing]:
        """Return those that do not."""
        return [one for one in self.all(kind) if not one.works(now)]

    def owner(self, email: str) -> User | None:
        """Return the user who has an address now."""
        return next((user for user in self.users if user.email == email and not user.gone), None)

    def has_username(self, username: str) -> bool:
        """Return whether somebody has this username."""
        return any(user.username == username and not user.gone for user in self.users)

    def code_for(self, bound: Thing, now: datetime) -> MailCode | None:
        """Return the mailed code that a session or a pending sign-in could be asked for now."""
        codes = [code for code in self.working(MailCode, now) if code.bound is bound]
        return codes[-1] if codes else None

    def end(self, user: User, *kinds: type[Thing]) -> None:
        """End what a user has of these kinds."""
        for thing in self.things:
            if thing.user is user and isinstance(thing, kinds):
                thing.ended = True

    def end_links(self, user: User, *kinds: Kind) -> None:
        """End a user's links of these kinds."""
        for link in self.all(Link, user):
            link.ended = link.ended or link.kind in kinds

    def set_password(self, user: User, password: str) -> None:
        """Change a password, by whichever way: what an intruder may have got with the old one ends."""
        user.password = password
        self.end_links(user, "reset", "change")
        self.end(user, Challenge, MailCode, Trust)

    def is_unproven(self, user: User) -> bool:
        """Return whether a stranger may have prepared the account."""
        return not user.verified and not user.factor.on

    def prove_mailbox(self, user: User) -> None:
        """End what a stranger may have prepared in the account of an address that was never verified."""
        if self.is_unproven(user):
            user.factor = Factor()
            self.end_links(user, "reset", "verify", "change")
            self.end(user, Challenge, MailCode, Trust, Invitation)

    def end_membership(self, organization: Organization, user: User) -> None:
        """End a membership, with the invitations that the member has sent."""
        del organization.members[user]
        del organization.ids[user]
        self.end_invitations(organization, user)
        for session in self.all(Session, user):
            session.active = None if session.active is organization else session.active

    def end_invitations(self, organization: Organization, user: User, above: Role | None = None) -> None:
        """End the invitations of a user to an organization: all, or those that a user with a role may not send."""
        for one in self.all(Invitation, user):
            may_send = above is not None and Role.MEMBER < above >= one.role
            one.ended = one.ended or (one.organization is organization and not may_send)

    def delete_organization(self, organization: Organization) -> None:
        """Delete an organization, with its invitations; it is active nowhere."""
        for user in tuple(organization.members):
            self.end_membership(organization, user)
        organization.gone = True

    def is_kept(self, user: User) -> bool:
        """Return whether a user cannot be deleted: the only owner of an organization with other members."""
        return any(one.is_only_owner(user) and len(one.members) > 1 for one in self.organizations)

    def delete(self, user: User) -> None:
        """Delete a user, with the organizations in which they are alone."""
        for organization in self.organizations:
            if organization.is_only_owner(user):
                self.delete_organization(organization)
            elif organization.role_of(user) is not None:
                self.end_membership(organization, user)
        user.gone = True

    def set_email(self, user: User, email: str, *, verified: bool) -> None:
        """Change an address: links sent to the old one end."""
        user.email, user.verified = email, verified
        self.end_links(user, "reset", "verify", "change")

    def confirm(self, user: User, *, by_app: bool) -> None:
        """Confirm what waits; with the app the new secret counts and the devices are forgotten."""
        factor = user.factor
        if factor.waiting_backup:
            factor.backup, factor.waiting_backup = factor.waiting_backup, []
        if by_app:
            factor.secret, factor.waiting, factor.last_step = factor.waiting, None, 0
            self.end(user, Trust)
        factor.on = True

    def disable(self, user: User) -> None:
        """Switch the second factor off."""
        user.factor = Factor()
        self.end(user, Trust, Challenge, MailCode)

    def clean_up(self, now: datetime) -> None:
        """Clean up: links are unknown a week after their end."""
        for link in self.all(Link):
            link.ended = link.ended or link.expires + TOLD <= now


def step_of(secret: str, code: str, now: datetime) -> int | None:
    """Return the step near now that a code of the authenticator belongs to, None for a wrong one."""
    present = int(now.timestamp()) // PERIOD
    steps = (present - 1, present, present + 1)
    return max((step for step in steps if pyotp.TOTP(secret).generate_otp(step) == code), default=None)


def use_step(factor: Factor, secret: str, code: str, now: datetime) -> bool:
    """Return whether a code is right and later than any before; then no earlier one is right any more."""
    step = step_of(secret, code, now)
    if step is None or step <= factor.last_step:
        return False
    factor.last_step = step
    return True
