"""What every random sequence has: the world, the model, the things drawn from, and the invariants after each step."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeVar

import httpx
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant
from hypothesis.strategies import SearchStrategy

from tests.handlers.steps import bearer, code, token_in
from tests.labs.fuzz.model import (
    LIVES,
    MAIL_CODE,
    AnyThing,
    Kind,
    Link,
    MailCode,
    Model,
    Session,
    Thing,
    User,
)
from tests.labs.fuzz.world import World

Item = TypeVar("Item")
Function = TypeVar("Function", bound=Callable[..., None])
Step = tuple[str, dict[str, Any]]
_MARK = "drawn"
Mails = list[tuple[str, str]]

PASSWORDS = ("correct horse battery", "four more words than", "seven red bicycles")
ADDRESSES = tuple(f"{name}@example.com" for name in ("ada", "bob", "cleo", "dan", "eve"))
PAUSES = {
    "a second": timedelta(seconds=1),
    "half a code": timedelta(seconds=15),
    "a code": timedelta(seconds=30),
    "a mailed code": timedelta(minutes=3),
    "a challenge": timedelta(minutes=10),
    "a lock": timedelta(minutes=15),
    "a link": timedelta(hours=1),
    "a day": timedelta(days=1),
    "some days": timedelta(days=5),
    "a session": timedelta(days=7),
    "a trust": timedelta(days=30),
}

which = st.integers(0, 15)
"""Which of the things of a kind, see `pick`."""
flags = st.booleans()
addresses = st.sampled_from(ADDRESSES)
new_passwords = st.sampled_from(PASSWORDS)
passwords = st.sampled_from((None, None, None, *PASSWORDS))
"""What is entered as one's password; None stands for the right one."""
AT_A_TIME = 3
"""How many of the things of a kind one step looks at; they take turns, and the last step looks at all."""


def pick(working: Sequence[Item], ended: Sequence[Item], number: int) -> Item:
    """Choose by a number: below 12 one that works, the newest first, otherwise one that has ended, if there are any."""
    candidates = (working or ended) if number < 12 else (ended or working)
    return candidates[-1 - number % 12 % len(candidates)]


def step(weight: int, **arguments: SearchStrategy[Any]) -> Callable[[Function], Function]:
    """Mark a method as a step that is done `weight` times as often as the rarest, with drawn arguments."""

    def mark(method: Function) -> Function:
        setattr(method, _MARK, (weight, st.fixed_dictionaries(arguments)))
        return method

    return mark


def steps_of(machine: type) -> SearchStrategy[Step]:
    """Return what draws the next step of a machine: the name of a method, and its arguments.

    Hypothesis's own rules would each be switched off in half of all sequences, and most of them need one another.
    """
    marked = {name: getattr(getattr(machine, name), _MARK, None) for name in dir(machine)}
    steps = {name: mark for name, mark in marked.items() if mark is not None}
    names = [name for name, (weight, _) in steps.items() for _ in range(weight)]
    return st.sampled_from(names).flatmap(lambda name: st.tuples(st.just(name), steps[name][1]))


class Steps(RuleBasedStateMachine):
    """A sequence of operations by several users on one service. `world` is given before it runs."""

    world: ClassVar[World]

    def __init__(self) -> None:
        """Begin with an empty service."""
        super().__init__()
        self.world.run(self.world.service.reset())
        self.model = Model()
        self.read = 0
        self.turn = 0
        self.letters: list[dict[str, Any]] = []

    def teardown(self) -> None:
        """Look at everything once more, and see that no mail came that nobody expected."""
        self.look(every=True)
        self.expect_mails([])

    @property
    def now(self) -> datetime:
        """The moment of the test's clock."""
        return self.world.now

    def a(self, kind: type[AnyThing], number: int) -> AnyThing:
        """Choose a session, link or the like."""
        return pick(self.model.working(kind, self.now), self.model.ended(kind, self.now), number)

    def somebody(self, number: int) -> User:
        """Choose a user."""
        users = self.model.users
        return pick([user for user in users if not user.gone], [user for user in users if user.gone], number)

    def act(
        self, session: Session, path: str, body: dict[str, Any], expected: str, mails: Mails | None = None
    ) -> httpx.Response | None:
        """POST with a session, and hold the answer against what was expected of a live one.

        Gives a success; None for a refusal and for a session that has ended.
        """
        if not session.works(self.now):
            return self.tell(path, body, session, "401 UNAUTHORIZED")
        session.touch(self.now)
        return self.tell(path, body, session, expected, mails)

    def tell(
        self,
        path: str,
        body: dict[str, Any],
        holder: Thing | None,
        expected: str,
        mails: Mails | None = None,
    ) -> httpx.Response | None:
        """POST with whatever token, and hold the answer and the mails against what was expected. Gives a success."""
        answer = self.world.post(path, body, bearer(holder.token) if holder is not None else {})
        self.compare(f"{path} by {holder}", answer, expected)
        if mails and expected == "200":
            self.expect_mails(mails)
        return answer if expected == "200" else None

    def compare(self, what: str, answer: httpx.Response, expected: str) -> None:
        """Hold an answer against what was expected, and write it down for whoever reads the sequence."""
        note(f"    {what}: {code(answer)}")
        assert code(answer) == expected, f"{what} answered {code(answer)}, not {expected}"

    def expect_mails(self, expected: Mails) -> None:
        """Read the mails since the last time: exactly these kinds, to exactly these people."""
        self.letters = self.world.mails()[self.read :]
        self.read += len(self.letters)
        assert Counter((mail["template"], mail["to"]) for mail in self.letters) == Counter(expected)

    def open_session(self, user: User, answer: httpx.Response, *, remembered: bool) -> Session:
        """Keep the session that an answer hands over."""
        token = answer.json()["token"]
        assert answer.headers["set-auth-token"] == token
        shown = self.world.get("/get-session", bearer(token)).json()["session"]
        created, expires = (datetime.fromisoformat(shown[key]) for key in ("createdAt", "expiresAt"))
        assert (created, expires) == (self.now, self.now + timedelta(days=7 if remembered else 1))
        return self.model.add(Session(token, user, expires, False, shown["id"], created, remembered))

    def keep_link(self, user: User, kind: Kind, email: str) -> None:
        """Keep the link of the newest mail that has one."""
        link = next(mail["link"] for mail in reversed(self.letters) if mail["link"])
        self.model.add(Link(token_in(link), user, self.now + LIVES[kind], False, kind, email))

    def keep_mailed_code(self, bound: Thing) -> None:
        """Keep the code of the newest mail; an older one for the same is worth nothing now."""
        for older in self.model.all(MailCode):
            older.ended = older.ended or older.bound is bound
        mailed = next(mail["code"] for mail in reversed(self.letters) if mail["code"])
        self.model.add(MailCode(mailed, bound.user, self.now + MAIL_CODE, False, bound))

    @step(4, pause=st.sampled_from(tuple(PAUSES)))
    def wait(self, pause: str) -> None:
        """Advance the clock."""
        self.world.service.clock.now += PAUSES[pause]

    @step(1)
    def clean_up(self) -> None:
        """Remove rows whose time is over; nobody notices."""
        self.world.clean_up()
        self.model.clean_up(self.now)

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        """Look at what is stored, and at some of what can be seen; the end of the sequence looks at all of it."""
        self.turn += 1
        self.look_inside()
        self.look(every=False)

    def look_inside(self) -> None:
        """Whoever has been changed did it themselves; no session is usable but those that were handed out."""
        mine = {
            (user.id, user.email, user.verified, user.factor.on, user.name)
            for user in self.model.users
            if not user.gone
        }
        users, sessions = self.world.stored()
        assert users == mine
        known = self.model.working(Session, self.now)
        usable = {digest for digest, expires in sessions if expires > self.now}
        assert usable == {hashlib.sha256(session.token.encode()).digest() for session in known}

    def look(self, *, every: bool) -> None:
        """Look at sessions, lists and other secrets from outside."""
        for session in self.some(self.model.working(Session, self.now), every):
            self.see_live(session)
            self.see_list(session)
        for session in self.some(self.model.ended(Session, self.now), every):
            self.see_nothing(session.token, f"{session} has ended")
        handles = [f"rvk_{session.id}" for session in self.model.all(Session)]
        others = [thing.token for thing in self.model.things if not isinstance(thing, Session)]
        for token in self.some([*others, *handles], every):
            self.see_nothing(token, f"{token} is no session")

    def some(self, items: Sequence[Item], every: bool) -> list[Item]:
        """Choose the newest, and others by turns; or all."""
        if every or len(items) <= AT_A_TIME:
            return list(items)
        turns = [items[(self.turn + number) % (len(items) - 1)] for number in range(1, AT_A_TIME)]
        return [items[-1], *turns]

    def see_live(self, session: Session) -> None:
        """A session that lives is its owner's, and nobody else's."""
        answer = self.world.get("/get-session", bearer(session.token), disableRefresh="true")
        assert code(answer) == "200", f"{session} has not ended, and does not work"
        body = answer.json()
        assert (body["session"]["id"], body["user"]["id"]) == (session.id, session.user.id)
        active = None if session.active is None else session.active.id
        assert body["session"].get("activeOrganizationId") == active

    def see_nothing(self, token: str, why: str) -> None:
        """What is no session, or none any more, opens nothing."""
        answer = self.world.get("/get-session", bearer(token))
        assert code(answer) == "401 UNAUTHORIZED", f"{why}, and works"

    def see_list(self, session: Session) -> None:
        """Every usable session is listed, and every listed one is usable, with its end to the millisecond."""
        session.touch(self.now)
        listed = self.world.get("/list-sessions", bearer(session.token)).json()
        shown = {one["token"]: datetime.fromisoformat(one["expiresAt"]) for one in listed}
        live = self.model.working(Session, self.now, session.user)
        assert shown == {one.token: one.expires for one in live}
