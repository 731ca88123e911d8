"""`gatewright scim-tokens`: Administer the tokens of directories."""

from typing import Annotated

import typer

from domain.context import Context
from domain.scim import management
from domain.sso_connections import operator
from models.scim_token import ScimTokenRow
from server.cli.options import AsJson, Yes, confirm, duration
from server.cli.output import print_list, print_secret
from server.cli.support import run

app = typer.Typer(help="Administer the tokens of directories.", no_args_is_help=True)

Connection = Annotated[str, typer.Argument(metavar="CONNECTION", help="Name of the connection.")]


@app.command()
def create(
    connection: Connection,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the token is for.")],
    expires_in: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Lifetime, such as 365d; by default no end.")
    ] = None,
) -> None:
    """Create a token for the directory of a connection, and print it.

    The token is printed alone on standard output, and is shown only once.

    Example: gatewright scim-tokens create acme "Entra ID"
    """
    if not 0 < len(name) <= 64 or not name.isprintable():
        raise typer.BadParameter("NAME must have 1 to 64 printable characters")
    lifetime = None if expires_in is None else duration(expires_in)

    async def job(ctx: Context) -> tuple[ScimTokenRow, str]:
        row = await management.locked(ctx, connection)
        return await management.create_token(ctx, row, name, lifetime, by_operator=True)

    token, secret = run(job)
    print_secret(secret, f"Created the token {token.id}; it is shown only here:")


@app.command("list")
def list_tokens(connection: Connection, as_json: AsJson = False) -> None:
    """List the tokens of a connection, oldest first.

    Example: gatewright scim-tokens list acme
    """

    async def job(ctx: Context) -> list[ScimTokenRow]:
        return list(await management.list_tokens(ctx, await operator.find(ctx, connection)))

    titles = ("ID", "Name", "Created", "Last used", "Expires")
    print_list(run(job), "token", titles, _row, _shape, as_json=as_json)


@app.command()
def revoke(
    connection: Connection,
    token: Annotated[str, typer.Argument(metavar="TOKEN_ID", help="Identifier of the token, as listed.")],
    yes: Yes = False,
) -> None:
    """Revoke a token; the users of the directory stay as they are.

    Example: gatewright scim-tokens revoke acme Tz4Xc7Vb1Nm8Ad5Sf2Gh9Jk6Pl3Oi0Uy
    """
    confirm(f"Revoke the token {token}?", yes)

    async def job(ctx: Context) -> None:
        await management.revoke_token(ctx, await management.locked(ctx, connection), token, by_operator=True)

    run(job)
    typer.echo(f"Revoked {token}.")


def _shape(row: ScimTokenRow) -> dict[str, object]:
    return {
        "id": row.id,
        "name": row.name,
        "createdAt": row.created_at,
        "lastUsedAt": row.last_used_at,
        "expiresAt": row.expires_at,
    }


def _row(row: ScimTokenRow) -> tuple[object, ...]:
    return row.id, row.name, row.created_at, row.last_used_at, row.expires_at
