"""`gatewright grants`: List and end what users have granted OAuth clients."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from domain.admin_oauth_clients import grants
from domain.context import Context
from models.oauth_grant import GrantRow
from server.cli.support import AsJson, Yes, cell, confirm, count, print_json, print_table, run

app = typer.Typer(help="List and end what users have granted OAuth clients.", no_args_is_help=True)


@app.command("list")
def list_grants(
    user: Annotated[str, typer.Option(metavar="USER", help="Email address, username or id.")],
    as_json: AsJson = False,
) -> None:
    """List the grants of a user, newest first.

    Example: gatewright grants list --user ada@example.com
    """
    found, names = run(lambda ctx: _listed(ctx, user))
    if as_json:
        print_json([_shape(row, names) for row in found])
        return
    if found:
        titles = ("ID", "Client", "Name", "Scopes", "Resources", "Lasts", "Granted", "Expires")
        print_table(titles, [_row(row, names) for row in found])
    typer.echo(count(len(found), "grant"))


@app.command()
def revoke(
    user: Annotated[
        str | None,
        typer.Option(metavar="USER", help="All grants of this user: email address, username or id."),
    ] = None,
    client: Annotated[
        str | None, typer.Option(metavar="CLIENT_ID", help="All grants to this client, and its own tokens.")
    ] = None,
    yes: Yes = False,
) -> None:
    """End all grants of a user, or to a client, with their tokens.

    A JSON Web Token that an API verifies by itself is accepted until it expires. Consents stay: while the user is
    signed in, a client can get a new grant.

    Example: gatewright grants revoke --user ada@example.com
    """
    if (user is None) == (client is None):
        raise typer.BadParameter("give either --user or --client")
    confirm(f"End all grants {f'of {user}' if client is None else f'to {client}'}?", yes)
    if user is not None:
        number = run(lambda ctx: grants.revoke_of_user(ctx, user))
    else:
        number = run(lambda ctx: grants.revoke_of_client(ctx, client or ""))
    typer.echo(f"Ended {count(number, 'grant')}.")


async def _listed(ctx: Context, user: str) -> tuple[Sequence[GrantRow], Mapping[str, str]]:
    found = await grants.list_of_user(ctx, user)
    return found, await grants.names(ctx, found)


def _shape(row: GrantRow, names: Mapping[str, str]) -> dict[str, object]:
    return {
        "id": row.id,
        "clientId": row.client_id,
        "clientName": names.get(row.client_id),
        "scopes": row.scopes.split(),
        "resources": row.resources.split(),
        "offline": row.offline,
        "sessionId": row.session_id,
        "createdAt": row.created_at,
        "expiresAt": row.expires_at,
    }


def _row(row: GrantRow, names: Mapping[str, str]) -> tuple[str, ...]:
    lasts = "after sign-out" if row.offline else "until sign-out"
    return (
        row.id,
        row.client_id,
        names.get(row.client_id, ""),
        row.scopes,
        row.resources,
        lasts,
        cell(row.created_at),
        cell(row.expires_at),
    )
