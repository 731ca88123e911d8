"""`gatewright grants`: List and end what users have granted OAuth clients."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

import typer

from domain.admin_oauth_clients import grants
from domain.context import Context
from models.oauth_grant import GrantRow
from server.cli.options import AsJson, Yes, confirm
from server.cli.output import count, print_list
from server.cli.support import run

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
    titles = ("ID", "Client", "Name", "Scopes", "Resources", "Lasts", "Granted", "Expires")
    cells, shape = partial(_cells, names=names), partial(_shape, names=names)
    print_list(found, "grant", titles, cells, shape, as_json=as_json)


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
    """Revoke all grants of a user or to a client, with their tokens.

    A JSON Web Token that an API verifies by itself is accepted until it expires. Consents are kept: while the user is
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


def _cells(row: GrantRow, names: Mapping[str, str]) -> tuple[object, ...]:
    client, lasts = names.get(row.client_id), "after sign-out" if row.offline else "until sign-out"
    return row.id, row.client_id, client, row.scopes, row.resources, lasts, row.created_at, row.expires_at
