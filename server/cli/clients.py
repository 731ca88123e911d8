"""`gatewright clients`: Administer the clients of the OAuth provider."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from domain.admin_oauth_clients import operator
from domain.context import Context
from domain.errors import BadRequest
from handlers.oauth_clients import client_shape, with_secret
from models.oauth_client import ClientRow, ClientSource
from server.cli import check_config
from server.cli.options import AsJson, Yes, confirm, given, repeated
from server.cli.output import cell, print_json, print_list, print_secret, print_table
from server.cli.support import run
from server.config.groups.oauth import OAuthSettings
from server.config.sources import ConfigurationError, file_errors

app = typer.Typer(help="Administer the clients of the OAuth provider.", no_args_is_help=True)

Client = Annotated[str, typer.Argument(metavar="CLIENT_ID", help="Client id.")]
RedirectUris = Annotated[list[str] | None, repeated("--redirect-uri", "URI", "Where users return to")]
LogoutUris = Annotated[
    list[str] | None, repeated("--post-logout-redirect-uri", "URI", "Where users return to after signing out")
]
Scope = Annotated[
    str | None, typer.Option(metavar="SCOPES", help="Scopes it may ask for, separated by spaces.")
]
GrantTypes = Annotated[list[str] | None, repeated("--grant-type", "TYPE", "Grant type it may use")]
Resources = Annotated[list[str] | None, repeated("--resource", "URI", "Resource it may ask for")]
OwnScopes = Annotated[
    list[str] | None,
    repeated("--client-credentials-scope", "SCOPE", "Scope of tokens that act for the client itself"),
]
ResourceServer = Annotated[
    list[str] | None, repeated("--resource-server", "URI", "Resource whose access tokens it may introspect")
]
SkipConsent = Annotated[
    bool | None,
    typer.Option("--skip-consent/--ask-consent", help="Whether users are not asked for their consent."),
]
Metadata = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="File with further members of the client metadata, as JSON; - is standard input."
    ),
]


@app.command()
def create(  # noqa: PLR0913 - one parameter per option
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name for users.")],
    redirect_uri: RedirectUris = None,
    post_logout_redirect_uri: LogoutUris = None,
    native: Annotated[
        bool, typer.Option("--native", help="For an application on the user's device.")
    ] = False,
    auth_method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="How it authenticates: client_secret_basic, client_secret_post, none or private_key_jwt.",
        ),
    ] = None,
    grant_type: GrantTypes = None,
    scope: Scope = None,
    resource: Resources = None,
    client_credentials_scope: OwnScopes = None,
    resource_server: ResourceServer = None,
    skip_consent: SkipConsent = None,
    metadata: Metadata = None,
    as_json: AsJson = False,
) -> None:
    """Create a client, and print its secret.

    The secret is printed alone on standard output, and is shown only once. For a client without a secret, the id is
    printed there.

    Example: gatewright clients create Shop --redirect-uri https://shop.example/callback
    """
    sent = _read_metadata(metadata) | given(
        client_name=name,
        redirect_uris=redirect_uri,
        post_logout_redirect_uris=post_logout_redirect_uri,
        application_type="native" if native else None,
        token_endpoint_auth_method=auth_method,
        grant_types=grant_type,
        scope=scope,
        resources=resource,
        client_credentials_scopes=client_credentials_scope,
        resource_server=resource_server,
        skip_consent=skip_consent,
    )
    row, secret = run(lambda ctx: operator.create(ctx, sent, ClientSource.CLI))
    if as_json:
        print_json(with_secret(row, secret))
    elif secret is None:
        print_secret(row.client_id, "Created the client:")
    else:
        print_secret(secret, f"Created the client {row.client_id}; its secret is shown only here:")
    if not check_config.read()[OAuthSettings].enabled:
        typer.echo("The OAuth provider is off; set oauth.enabled to use the client.", err=True)


@app.command("import")
def import_clients(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Client metadata, as JSON; - is standard input.")
    ],
) -> None:
    """Create clients from JSON, and print their secrets.

    The file has the metadata (RFC 7591) of one client, or a list of them. A client keeps its client_id and its
    client_secret, of at least 32 characters, if it has them. Either all clients are created or none.

    Example: gatewright clients import clients.json
    """
    read = _read(file, "FILE")
    documents = read if isinstance(read, list) else [read]
    if not all(isinstance(one, dict) for one in documents):
        raise ConfigurationError(f"{file}: must be a JSON object, or a list of objects")

    async def job(ctx: Context) -> list[Any]:
        return [await _import_one(ctx, number, one) for number, one in enumerate(documents, 1)]

    print_json(run(job))


async def _import_one(ctx: Context, number: int, document: Mapping[str, Any]) -> Any:
    """Import a client; an error says which one of the file it is about."""
    try:
        return with_secret(*await operator.import_client(ctx, document))
    except BadRequest as refusal:
        known_as = document.get("client_id") or document.get("client_name") or "without a name"
        raise type(refusal)(f"client {number} ({known_as}): {refusal}") from None


@app.command("list")
def list_clients(as_json: AsJson = False) -> None:
    """List the newest 1000 clients, newest first.

    Example: gatewright clients list
    """
    titles = ("Client ID", "Name", "Source", "Type", "Authentication", "State", "Created", "Last used")
    found = run(operator.list_clients)
    colours = {"disabled": "red"}
    print_list(found, "client", titles, _row, client_shape, as_json=as_json, colours=colours)


@app.command()
def show(client: Client, as_json: AsJson = False) -> None:
    """Show a client, without its secret.

    Example: gatewright clients show app_Zx9Cv4Bn7Mw2Qe5Rt0YuJd8K
    """
    shape: Mapping[str, Any] = {**client_shape(run(lambda ctx: operator.find(ctx, client)))}
    if as_json:
        print_json(shape)
        return
    shown = {name: value for name, value in shape.items() if value not in ([], "")}
    print_table(("", ""), [(name, _text(value)) for name, value in shown.items()])


@app.command()
def update(  # noqa: PLR0913 - one parameter per option
    client: Client,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="New name.")] = None,
    redirect_uri: RedirectUris = None,
    post_logout_redirect_uri: LogoutUris = None,
    grant_type: GrantTypes = None,
    scope: Scope = None,
    resource: Resources = None,
    client_credentials_scope: OwnScopes = None,
    resource_server: ResourceServer = None,
    skip_consent: SkipConsent = None,
    metadata: Metadata = None,
    enable: Annotated[bool, typer.Option("--enable", help="Enable a disabled client.")] = False,
) -> None:
    """Change a client.

    An option that may be repeated replaces all previous values. A null in --metadata removes a member.

    Example: gatewright clients update app_Zx9Cv4Bn7Mw2Qe5Rt0YuJd8K --name "Shop 2"
    """
    sent = _read_metadata(metadata) | given(
        client_name=name,
        redirect_uris=redirect_uri,
        post_logout_redirect_uris=post_logout_redirect_uri,
        grant_types=grant_type,
        scope=scope,
        resources=resource,
        client_credentials_scopes=client_credentials_scope,
        resource_server=resource_server,
        skip_consent=skip_consent,
    )
    if not sent and not enable:
        raise typer.BadParameter("name what to change; gatewright clients update --help lists the options")
    is_disabled = False if enable else None
    run(lambda ctx: operator.update(ctx, client, sent, ClientSource.CLI, is_disabled=is_disabled))
    typer.echo(f"Changed {client}.")


@app.command()
def disable(client: Client, yes: Yes = False) -> None:
    """Disable a client, and end all its grants and tokens.

    Example: gatewright clients disable app_Zx9Cv4Bn7Mw2Qe5Rt0YuJd8K
    """
    confirm(f"Disable the client {client}, and end all its grants?", yes)
    run(lambda ctx: operator.disable(ctx, client))
    typer.echo(f"Disabled {client}; gatewright clients update --enable enables it again.")


@app.command()
def delete(client: Client, yes: Yes = False) -> None:
    """Delete a client with its consents, grants and tokens.

    Example: gatewright clients delete app_Zx9Cv4Bn7Mw2Qe5Rt0YuJd8K
    """
    confirm(f"Delete the client {client}?", yes)
    run(lambda ctx: operator.remove(ctx, client))
    typer.echo(f"Deleted {client}.")


@app.command()
def rotate_secret(client: Client) -> None:
    """Replace the secret of a client, and print the new secret.

    The new secret is printed alone on standard output, and is shown only once. The previous secret is also accepted for
    24 hours.

    Example: gatewright clients rotate-secret app_Zx9Cv4Bn7Mw2Qe5Rt0YuJd8K
    """
    row, secret = run(lambda ctx: operator.rotate_secret(ctx, client))
    until = cell(row.previous_until)
    print_secret(
        secret, f"The previous secret is accepted until {until} UTC. The new one is shown only here:"
    )


def _read_metadata(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    read = _read(path, "--metadata")
    if not isinstance(read, dict):
        raise ConfigurationError(f"--metadata: {path}: must be a JSON object")
    return read


def _read(path: str, option: str) -> Any:
    with file_errors(f"{option}: {path}"):
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
    try:
        return json.loads(text)
    except ValueError:
        raise ConfigurationError(f"{option}: {path}: is not JSON") from None


def _row(row: ClientRow) -> tuple[object, ...]:
    kind, authentication = row.metadata["application_type"], row.metadata["token_endpoint_auth_method"]
    state = "active" if row.disabled_at is None else "disabled"
    names = (row.client_id, row.client_name, row.source)
    last_used = row.last_used_on and row.last_used_on.date()
    return *names, kind, authentication, state, row.created_at, last_used


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, dict) else cell(value)
