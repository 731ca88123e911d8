"""`gatewright users`: what the operator does to users."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

import orjson
import structlog
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain import administration
from domain.administration import NewUser, Overview
from domain.context import Context
from domain.errors import BadRequest
from handlers import wire
from models import User
from models.queries import SessionRow
from server import durations
from server.commands import configuration
from server.reads.plans import is_storable
from server.services import opened

Result = TypeVar("Result")

app = typer.Typer(help="Look after users.", no_args_is_help=True)

Identifier = Annotated[str, typer.Argument(metavar="USER", help="Address, username or id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

_log = structlog.get_logger(__name__)

_WIDTH = 160
"""Columns of a table that nobody looks at directly, so that nothing is cut."""


@app.command("list")
def list_users(
    search: Annotated[str, typer.Argument(help="Part of an address, name or username.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Users shown at most.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Users left out before them.")] = 0,
    as_json: AsJson = False,
) -> None:
    """List users, the newest first."""
    found, total = _run(lambda ctx: administration.list_users(ctx, search, limit=limit, offset=offset))
    if as_json:
        _print_json([wire.user(user) for user in found])
        return
    _print_table(("ID", "Address", "Username", "Name", "Created", "State"), [_row(user) for user in found])
    typer.echo(f"{len(found)} of {total} users")


@app.command()
def show(user: Identifier, as_json: AsJson = False) -> None:
    """Show one user, how they sign in, and their live sessions."""
    overview = _run(lambda ctx: administration.show(ctx, user))
    if as_json:
        _print_json(_overview_shape(overview))
        return
    _print_table(("", ""), [(key, _cell(value)) for key, value in wire.user(overview.user).items()])
    typer.echo(f"Signs in with: {', '.join(overview.providers) or 'nothing'}")
    if overview.sessions:
        titles = ("Session", "Last used", "Expires", "Address", "User agent")
        _print_table(titles, map(_session, overview.sessions))


@app.command()
def create(
    email: Annotated[str, typer.Argument(help="Address.")],
    name: Annotated[str, typer.Option(help="Name; by default the local part of the address.")] = "",
    username: Annotated[str | None, typer.Option(help="Username to sign in with.")] = None,
    verified: Annotated[bool, typer.Option("--verified", help="Count the address as verified.")] = False,
) -> None:
    """Create a user. The password is asked for, or read from standard input."""
    wanted = NewUser(
        email=email,
        name=name or email.partition("@")[0],
        password=_read_password(),
        username=username,
        email_verified=verified,
    )
    user = _run(lambda ctx: administration.create(ctx, wanted))
    typer.echo(f"Created {user.email} with the id {user.id}.")


@app.command()
def ban(
    user: Identifier,
    reason: Annotated[str | None, typer.Option(help="Why; kept with the user.")] = None,
    duration: Annotated[
        timedelta | None,
        typer.Option(
            "--for", parser=durations.parse, metavar="DURATION", help="How long, such as 7d; else for ever."
        ),
    ] = None,
) -> None:
    """Shut a user out and end their sessions."""

    async def job(ctx: Context) -> int:
        until = None if duration is None else ctx.now + duration
        return await administration.ban(ctx, user, reason=reason, until=until)

    ended = _run(job)
    typer.echo(f"Banned {user}; {ended} sessions ended.")


@app.command()
def unban(user: Identifier) -> None:
    """Let a banned user in again."""
    was_banned = _run(lambda ctx: administration.unban(ctx, user))
    typer.echo(f"{user} may sign in again." if was_banned else f"{user} was not banned.")


@app.command()
def revoke_sessions(user: Identifier, yes: Yes = False) -> None:
    """Sign a user out everywhere."""
    _confirm(f"End every session of {user}?", yes)
    ended = _run(lambda ctx: administration.revoke_sessions(ctx, user))
    typer.echo(f"{ended} sessions ended.")


@app.command()
def two_factor_reset(user: Identifier, yes: Yes = False) -> None:
    """Switch off the second factor of a user who has lost it, and sign them out everywhere.

    Make sure first that it is the user who asks: with the password alone they are in.
    """
    _confirm(f"Switch off the second factor of {user} and end every session?", yes)
    found, ended = _run(lambda ctx: administration.reset_two_factor(ctx, user))
    if ended is None:
        typer.echo(f"{found.email} has no second factor.")
        return
    _log.info("users.two_factor_reset", user_id=found.id, sessions_ended=ended)
    typer.echo(f"{found.email} signs in with the password alone; {ended} sessions ended.")


@app.command()
def delete(user: Identifier, yes: Yes = False) -> None:
    """Delete a user and everything that belongs to them."""
    _confirm(f"Delete {user} for good?", yes)
    deleted = _run(lambda ctx: administration.delete(ctx, user))
    typer.echo(f"Deleted {deleted.email}.")


def _run(job: Callable[[Context], Awaitable[Result]]) -> Result:
    """Run one rule in a transaction of its own."""
    settings = configuration.read()

    async def run() -> Result:
        async with opened(settings) as services:
            return await services.requests.run(job)

    return asyncio.run(run())


def _confirm(question: str, yes: bool) -> None:
    if not yes:
        typer.confirm(question, abort=True)


def _read_password() -> str:
    """Ask for the password where somebody can answer; never take it from the command line, which others can read.

    Raises BadRequest for what is no text.
    """
    if sys.stdin.isatty():
        answer: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        answer = sys.stdin.buffer.readline().decode("utf-8", "surrogateescape").rstrip("\r\n")
    if not is_storable(answer):
        raise BadRequest("The password must be text in UTF-8 without NUL")
    return answer


def _row(user: User) -> tuple[str, ...]:
    state = "banned" if user.banned else "" if user.email_verified else "unverified"
    return (user.id, user.email, user.username or "", user.name, _cell(user.created_at), state)


def _session(session: SessionRow) -> tuple[str, ...]:
    return (
        session.id,
        _cell(session.updated_at),
        _cell(session.expires_at),
        session.ip_address or "",
        session.user_agent or "",
    )


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _overview_shape(overview: Overview) -> dict[str, Any]:
    """Write an overview as JSON; a session's token is not known here, its id stands for it."""
    sessions = []
    for row in overview.sessions:
        shape = dict(wire.session(row, ""))
        del shape["token"]
        sessions.append(shape)
    return {"user": wire.user(overview.user), "providers": list(overview.providers), "sessions": sessions}


def _print_json(value: object) -> None:
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    table = Table(box=None, show_header=any(columns), header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
