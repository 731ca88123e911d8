"""`gatewright users`: Administer users."""

import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from domain.admin import operator
from domain.admin.operator import Overview
from domain.context import Context
from domain.errors import BadRequest
from handlers import wire
from models.session import SessionRow
from models.user import UserRow
from server.cli import user_roles
from server.cli.options import AsJson, Identifier, Yes, confirm
from server.cli.output import count, print_json, print_table
from server.cli.support import run
from server.config import durations
from server.database.compile import is_storable

app = typer.Typer(help="Administer users.", no_args_is_help=True)
app.add_typer(user_roles.app)


@app.command("list")
def list_users(
    search: Annotated[
        str, typer.Argument(metavar="SEARCH", help="Part of an email address, name or username.")
    ] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, metavar="NUMBER", help="Maximum number of users.")
    ] = 50,
    offset: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Number of users to skip.")] = 0,
    role: Annotated[str | None, typer.Option(metavar="ROLE", help="Only users with this role.")] = None,
    banned: Annotated[bool, typer.Option("--banned", help="Only users whose ban has not ended.")] = False,
    as_json: AsJson = False,
) -> None:
    """List users, newest first.

    Example: gatewright users list @example.com --limit 10
    """

    async def found(ctx: Context) -> tuple[Sequence[UserRow], int, datetime]:
        page = await operator.list_users(ctx, search, role=role, banned=banned, limit=limit, offset=offset)
        return *page, ctx.now

    users, total, now = run(found)
    if as_json:
        print_json([wire.user(user) for user in users])
        return
    if users:
        titles = ("ID", "Email", "Username", "Name", "Role", "Created", "State")
        print_table(titles, (_row(user, now) for user in users), {"banned": "red", "unverified": "yellow"})
    typer.echo(count(total, "user") if len(users) == total else f"{len(users)} of {count(total, 'user')}")


@app.command()
def show(user: Identifier, as_json: AsJson = False) -> None:
    """Show one user with sign-in methods and active sessions.

    Example: gatewright users show ada@example.com
    """
    overview = run(lambda ctx: operator.show(ctx, user))
    if as_json:
        print_json(_overview_shape(overview))
        return
    print_table(("", ""), wire.user(overview.user).items())
    typer.echo(f"Signs in with: {', '.join(overview.providers) or 'nothing'}")
    if overview.sessions:
        titles = ("Session", "Last used", "Expires", "IP address", "User agent")
        print_table(titles, map(_session, overview.sessions))


@app.command()
def create(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Email address.")],
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Name; by default the email address up to the @.")
    ] = "",
    username: Annotated[
        str | None, typer.Option(metavar="USERNAME", help="Username to sign in with.")
    ] = None,
    verified: Annotated[bool, typer.Option("--verified", help="Mark the email address as verified.")] = False,
    role: Annotated[
        str | None,
        typer.Option(metavar="ROLES", help="Roles, separated by commas; by default the default role."),
    ] = None,
) -> None:
    """Create a user with a password.

    Asks for the password, or reads it from standard input if that is not a terminal.

    Example: gatewright users create ada@example.com --name Ada --verified
    """
    new = operator.NewUser(
        email=email,
        name=name or email.partition("@")[0],
        password=_read_password(),
        username=username,
        email_verified=verified,
        role=role,
    )
    user = run(lambda ctx: operator.create(ctx, new))
    typer.echo(f"Created {user.email} with the id {user.id}.")


@app.command()
def set_password(user: Identifier) -> None:
    """Set a user's password and end every session.

    Asks for the password, or reads it from standard input if that is not a terminal.

    Example: gatewright users set-password ada@example.com
    """
    new = _read_password()
    ended = run(lambda ctx: operator.set_password(ctx, user, new))
    typer.echo(f"{user} has a new password; {_ended(ended)}.")


@app.command()
def verify_email(user: Identifier) -> None:
    """Mark a user's email address as verified.

    Example: gatewright users verify-email ada@example.com
    """
    changed = run(lambda ctx: operator.verify_email(ctx, user))
    state = "is verified now" if changed else "was verified already"
    typer.echo(f"The email address of {user} {state}.")


@app.command()
def ban(
    user: Identifier,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Reason, stored with the user.")] = None,
    duration: Annotated[
        timedelta | None,
        typer.Option(
            "--for",
            parser=durations.parse,
            metavar="DURATION",
            help="Duration, such as 7d; by default for ever.",
        ),
    ] = None,
) -> None:
    """Ban a user and end their sessions.

    Example: gatewright users ban ada@example.com --for 7d --reason spam
    """

    async def job(ctx: Context) -> int:
        until = None if duration is None else ctx.now + duration
        return await operator.ban(ctx, user, reason=reason, until=until)

    ended = run(job)
    typer.echo(f"Banned {user}; {_ended(ended)}.")


@app.command()
def unban(user: Identifier) -> None:
    """Lift the ban of a user.

    Example: gatewright users unban ada@example.com
    """
    was_banned = run(lambda ctx: operator.unban(ctx, user))
    typer.echo(f"{user} may sign in again." if was_banned else f"{user} was not banned.")


@app.command()
def revoke_sessions(user: Identifier, yes: Yes = False) -> None:
    """Sign a user out everywhere.

    Example: gatewright users revoke-sessions ada@example.com
    """
    confirm(f"End every session of {user}?", yes)
    ended = run(lambda ctx: operator.revoke_sessions(ctx, user))
    typer.echo(f"{_ended(ended)}.")


@app.command()
def sign_out_everyone(yes: Yes = False) -> None:
    """Sign out all users.

    Ends all sessions, removes all trusted devices, and invalidates all emailed links and codes, for example after
    restoring a backup.

    Example: gatewright users sign-out-everyone --yes
    """
    confirm("End every session of every user?", yes)
    typer.echo(f"{_ended(run(operator.sign_out_everyone))}.")


@app.command()
def two_factor_reset(user: Identifier, yes: Yes = False) -> None:
    """Remove a lost second factor and sign the user out.

    First make sure that the request comes from the user, who can then sign in with the password alone.

    Example: gatewright users two-factor-reset ada@example.com
    """
    confirm(f"Remove the second factor of {user} and end every session?", yes)
    owner, ended = run(lambda ctx: operator.reset_two_factor(ctx, user))
    if ended is None:
        typer.echo(f"{owner.email} has no second factor.")
        return
    typer.echo(f"{owner.email} signs in with the password alone; {_ended(ended)}.")


@app.command()
def delete(user: Identifier, yes: Yes = False) -> None:
    """Delete a user with all their data.

    Example: gatewright users delete ada@example.com
    """
    confirm(f"Delete {user} for good?", yes)
    deleted = run(lambda ctx: operator.delete(ctx, user))
    typer.echo(f"Deleted {deleted.email}.")


def _ended(number: int) -> str:
    return f"{count(number, 'session')} ended"


def _read_password() -> str:
    """Prompt for the password on a terminal, or read it from standard input; others can read the command line.

    Raises BadRequest unless it is text.
    """
    if sys.stdin.isatty():
        answer: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        answer = sys.stdin.buffer.readline().decode("utf-8", "surrogateescape").rstrip("\r\n")
    if not is_storable(answer):
        raise BadRequest("The password must be text in UTF-8 without NUL")
    return answer


def _row(user: UserRow, now: datetime) -> tuple[object, ...]:
    state = "banned" if user.is_banned(now) else "" if user.email_verified else "unverified"
    return user.id, user.email, user.username, user.name, user.role, user.created_at.date(), state


def _session(session: SessionRow) -> tuple[object, ...]:
    return session.id, session.updated_at, session.expires_at, session.ip_address, session.user_agent


def _overview_shape(overview: Overview) -> dict[str, Any]:
    """Return an overview as JSON; sessions have no token, which is not stored."""
    sessions = []
    for row in overview.sessions:
        shape = dict(wire.session(row, ""))
        del shape["token"]
        sessions.append(shape)
    return {"user": wire.user(overview.user), "providers": list(overview.providers), "sessions": sessions}
