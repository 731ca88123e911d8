"""`gatewright registration-tokens`: Administer the tokens that let programs register OAuth clients."""

from typing import Annotated

import typer

from domain.oauth_clients import initial_tokens
from models.initial_access_token import InitialTokenRow
from server.cli import check_config
from server.cli.support import AsJson, Yes, cell, confirm, count, print_json, print_table, run
from server.config import durations
from server.config.groups.oauth import OAuthSettings
from server.config.sources import ConfigurationError

app = typer.Typer(
    help="Administer the tokens that let programs register OAuth clients.", no_args_is_help=True
)


@app.command()
def create(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="What the token is for.")],
    uses: Annotated[int, typer.Option(min=1, max=10_000, metavar="NUMBER", help="Clients it registers.")] = 1,
    expires_in: Annotated[
        str, typer.Option(metavar="DURATION", help="Lifetime, such as 12h or 30d.")
    ] = "24h",
) -> None:
    """Create a token, and print it.

    It is shown only once, alone on standard output. It is accepted while oauth.registration is "token".

    Example: gatewright registration-tokens create ci --uses 5 --expires-in 7d
    """
    if not 0 < len(label) <= 64 or not label.isprintable():
        raise typer.BadParameter("LABEL must have 1 to 64 printable characters")
    try:
        lifetime = durations.parse(expires_in)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    row, token = run(lambda ctx: initial_tokens.create(ctx, label, uses=uses, expires_in=lifetime))
    # On standard error, so that standard output is only the token and can be piped.
    typer.echo(f"Created the token {row.id}; it is shown only here:", err=True)
    typer.echo(token)
    if check_config.read()[OAuthSettings].registration != "token":
        typer.echo('It is not accepted now; set oauth.registration to "token".', err=True)


@app.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """List the tokens that can still be used, oldest first.

    Example: gatewright registration-tokens list
    """
    found = run(initial_tokens.list_all)
    if as_json:
        print_json([_shape(row) for row in found])
        return
    if found:
        print_table(("ID", "Label", "Uses left", "Created", "Expires"), map(_row, found))
    typer.echo(count(len(found), "token"))


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="TOKEN_ID", help="Identifier of the token, as listed.")],
    yes: Yes = False,
) -> None:
    """Revoke a token; clients that it has registered stay.

    Example: gatewright registration-tokens revoke Tz4Xc7Vb1Nm8Ad5Sf2Gh9Jk6Pl3Oi0Uy
    """
    confirm(f"Revoke the token {token}?", yes)
    if not run(lambda ctx: initial_tokens.revoke(ctx, token)):
        raise ConfigurationError(f"{token}: no such token")
    typer.echo(f"Revoked {token}.")


def _shape(row: InitialTokenRow) -> dict[str, object]:
    return {
        "id": row.id,
        "label": row.label,
        "usesLeft": row.uses_left,
        "createdAt": row.created_at,
        "expiresAt": row.expires_at,
    }


def _row(row: InitialTokenRow) -> tuple[str, ...]:
    return row.id, row.label, str(row.uses_left), cell(row.created_at), cell(row.expires_at)
