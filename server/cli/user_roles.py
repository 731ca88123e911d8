"""The commands of `gatewright users` about roles."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from domain.admin import impersonation, operator
from domain.context import Context
from handlers import wire
from models.user import UserRow
from server.cli import check_config
from server.cli.options import AsJson, Identifier, Yes, confirm
from server.cli.output import count, print_json, print_list, print_table
from server.cli.support import run
from server.config.groups.admin import AdminSettings

app = typer.Typer()

Role = Annotated[str, typer.Option(metavar="ROLE", help="Name of the role.")]


@app.command()
def promote(user: Identifier, role: Role = "admin") -> None:
    """Add a role, such as admin, to a user.

    To become the first administrator, sign up, and then promote yourself.

    Example: gatewright users promote ada@example.com
    """
    changed = run(lambda ctx: operator.promote(ctx, user, role))
    typer.echo(f"Roles of {changed.email}: {changed.role}.")
    if not check_config.read()[AdminSettings].enabled:
        typer.echo("The operations under /admin/ are off; set admin.enabled to use them.")


@app.command()
def demote(user: Identifier, role: Role = "admin", yes: Yes = False) -> None:
    """Take a role away from a user.

    A user without any other role gets the default role.

    Example: gatewright users demote ada@example.com
    """
    _confirm_last(user, yes)
    changed = run(lambda ctx: operator.demote(ctx, user, role))
    typer.echo(f"Roles of {changed.email}: {changed.role}.")


@app.command()
def set_role(
    user: Identifier,
    roles: Annotated[str, typer.Argument(metavar="ROLES", help="Role names, separated by commas.")],
    yes: Yes = False,
) -> None:
    """Replace all roles of a user.

    Example: gatewright users set-role ada@example.com admin
    """
    _confirm_last(user, yes)
    changed = run(lambda ctx: operator.set_role(ctx, user, roles))
    typer.echo(f"Roles of {changed.email}: {changed.role}.")


@app.command()
def admins(as_json: AsJson = False) -> None:
    """List the users with an administrative role.

    Example: gatewright users admins
    """

    async def found(ctx: Context) -> tuple[Sequence[tuple[UserRow, datetime | None]], datetime]:
        return await operator.administrators(ctx), ctx.now

    administrators, now = run(found)
    print_list(
        administrators,
        "administrator",
        ("ID", "Email", "Role", "Second factor", "Last sign-in", "State"),
        lambda admin: _cells_of_admin(*admin, now),
        lambda found: {**wire.user(found[0]), "lastSignIn": found[1] and wire.instant(found[1])},
        as_json=as_json,
        colours={"banned": "red", "no": "yellow"},
    )


def _cells_of_admin(user: UserRow, last: datetime | None, now: datetime) -> tuple[object, ...]:
    return user.id, user.email, user.role, user.two_factor_enabled, last, "banned" * user.is_banned(now)


@app.command()
def impersonations(
    end: Annotated[bool, typer.Option("--end", help="End all of them.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """List or end sessions in the name of users.

    Example: gatewright users impersonations --end --yes
    """
    if end:
        confirm("End every session in the name of a user?", yes)
        typer.echo(f"{count(run(impersonation.end_all), 'session')} ended.")
        return
    found = run(impersonation.running)
    if as_json:
        print_json(
            [
                {
                    "sessionId": row.session_id,
                    "administrator": row.administrator,
                    "user": row.user,
                    "createdAt": wire.instant(row.created_at),
                    "expiresAt": wire.instant(row.expires_at),
                }
                for row in found
            ]
        )
        return
    if found:
        rows = [
            (row.session_id, row.administrator, row.user, row.created_at, row.expires_at) for row in found
        ]
        print_table(("Session", "Administrator", "User", "Since", "Expires"), rows)
    typer.echo(f"{count(len(found), 'session')} in the name of users")


def _confirm_last(user: str, yes: bool) -> None:
    """Ask for confirmation if no other user may set roles."""
    if run(lambda ctx: operator.is_last_admin(ctx, user)):
        confirm(f"{user} is the last administrator. Change their roles?", yes)
