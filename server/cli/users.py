"""`gatewright users`: what the operator does to users."""

import sys
from datetime import timedelta
from typing import Annotated, Any

import orjson
import typer

from domain.admin import users
from domain.admin.users import NewUser, Overview
from domain.context import Context
from domain.errors import BadRequest
from handlers import wire
from models.queries import SessionRow, UserRow
from server.cli.support import cell, print_table, run
from server.config import durations
from server.database.compile import is_storable

app = typer.Typer(help="Look after users.", no_args_is_help=True)

Identifier = Annotated[str, typer.Argument(metavar="USER", help="Address, username or id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.command("list")
def list_users(
    search: Annotated[str, typer.Argument(help="Part of an address, name or username.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Users shown at most.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Users left out before them.")] = 0,
    as_json: AsJson = False,
) -> None:
    """List users, the newest first."""
    found, total = run(lambda ctx: users.list_users(ctx, search, limit=limit, offset=offset))
    if as_json:
        _print_json([wire.user(user) for user in found])
        return
    print_table(("ID", "Address", "Username", "Name", "Created", "State"), [_row(user) for user in found])
    typer.echo(f"{len(found)} of {total} users")


@app.command()
def show(user: Identifier, as_json: AsJson = False) -> None:
    """Show one user, how they sign in, and their live sessions."""
    overview = run(lambda ctx: users.show(ctx, user))
    if as_json:
        _print_json(_overview_shape(overview))
        return
    print_table(("", ""), [(key, cell(value)) for key, value in wire.user(overview.user).items()])
    typer.echo(f"Signs in with: {', '.join(overview.providers) or 'nothing'}")
    if overview.sessions:
        titles = ("Session", "Last used", "Expires", "Address", "User agent")
        print_table(titles, map(_session, overview.sessions))


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
    user = run(lambda ctx: users.create(ctx, wanted))
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
        return await users.ban(ctx, user, reason=reason, until=until)

    ended = run(job)
    typer.echo(f"Banned {user}; {_ended(ended)}.")


@app.command()
def unban(user: Identifier) -> None:
    """Let a banned user in again."""
    was_banned = run(lambda ctx: users.unban(ctx, user))
    typer.echo(f"{user} may sign in again." if was_banned else f"{user} was not banned.")


@app.command()
def revoke_sessions(user: Identifier, yes: Yes = False) -> None:
    """Sign a user out everywhere."""
    _confirm(f"End every session of {user}?", yes)
    ended = run(lambda ctx: users.revoke_sessions(ctx, user))
    typer.echo(f"{_ended(ended)}.")


@app.command()
def sign_out_everyone(yes: Yes = False) -> None:
    """End every session of every user, trust no device, take back mailed links and codes; for after a restore."""
    _confirm("End every session of every user?", yes)
    typer.echo(f"{_ended(run(users.sign_out_everyone))}.")


@app.command()
def two_factor_reset(user: Identifier, yes: Yes = False) -> None:
    """Switch off the second factor of a user who has lost it, and sign them out everywhere.

    Make sure first that it is the user who asks: with the password alone they are in.
    """
    _confirm(f"Switch off the second factor of {user} and end every session?", yes)
    found, ended = run(lambda ctx: users.reset_two_factor(ctx, user))
    if ended is None:
        typer.echo(f"{found.email} has no second factor.")
        return
    typer.echo(f"{found.email} signs in with the password alone; {_ended(ended)}.")


@app.command()
def delete(user: Identifier, yes: Yes = False) -> None:
    """Delete a user and everything that belongs to them."""
    _confirm(f"Delete {user} for good?", yes)
    deleted = run(lambda ctx: users.delete(ctx, user))
    typer.echo(f"Deleted {deleted.email}.")


def _ended(number: int) -> str:
    return f"{number} {'session' if number == 1 else 'sessions'} ended"


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


def _row(user: UserRow) -> tuple[str, ...]:
    state = "banned" if user.banned else "" if user.email_verified else "unverified"
    return (user.id, user.email, user.username or "", user.name, cell(user.created_at), state)


def _session(session: SessionRow) -> tuple[str, ...]:
    return (
        session.id,
        cell(session.updated_at),
        cell(session.expires_at),
        session.ip_address or "",
        session.user_agent or "",
    )


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
