"""`gatewright sso`: Administer single sign-on connections."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import typer

from domain.admin_organizations import operator as organizations
from domain.context import Context
from domain.sso.configuration import PROVIDER_ID
from domain.sso.discovery import DiscoveryError, ProviderDiscovery, document_url
from domain.sso.saml import MetadataRefused, SamlLibrary
from domain.sso_connections import domains, operator, other_sessions
from domain.sso_connections.domains import Connection
from handlers.sso_connections import provider_shape
from models.sso_connection import ConnectionRow, ConnectionSource, ConnectionState
from server.cli import check_config
from server.cli.options import AsJson, Yes, confirm, given, repeated
from server.cli.output import cell, print_json, print_list
from server.cli.sso_fields import read_fields, read_file
from server.cli.support import run
from server.config.groups.sso import SsoSettings
from server.config.sources import ConfigurationError

app = typer.Typer(help="Administer single sign-on connections.", no_args_is_help=True)

Provider = Annotated[str, typer.Argument(metavar="PROVIDER", help="Provider id of the connection.")]
Issuer = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Issuer of the OpenID provider, or entity id of the SAML one."),
]
Domains = Annotated[list[str] | None, repeated("--domain", "DOMAIN", "Email domain, without proof")]
Required = Annotated[
    list[str] | None, repeated("--required-domain", "DOMAIN", "Domain whose users must sign in through it")
]
ClientId = Annotated[str | None, typer.Option(metavar="ID", help="Client id at the OpenID provider.")]
SecretFile = Annotated[
    str | None,
    typer.Option(
        "--client-secret-file", metavar="FILE", help="File with the client secret; - is standard input."
    ),
]
MetadataFile = Annotated[
    str | None, typer.Option("--metadata", metavar="FILE", help="Metadata of the SAML identity provider.")
]
FieldsFile = Annotated[
    str | None,
    typer.Option("--fields", metavar="FILE", help="Further fields of /sso/update-provider, as JSON."),
]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="Name on the button of the sign-in page.")]
State = Annotated[str | None, typer.Option(metavar="STATE", help="draft, active or paused.")]
Role = Annotated[str | None, typer.Option("--default-role", metavar="ROLES", help="Roles of new members.")]
GroupRoles = Annotated[
    list[str] | None, repeated("--group-role", "GROUP=ROLES", "Roles of the members of a group")
]


@app.command("list")
def list_connections(as_json: AsJson = False) -> None:
    """List connections, the oldest first.

    Example: gatewright sso list
    """

    async def job(ctx: Context) -> list[tuple[Connection, Any]]:
        return [(one, provider_shape(ctx, one)) for one in await operator.list_all(ctx)]

    print_list(
        run(job),
        "connection",
        ("Provider", "Type", "Issuer", "Domains", "Organization", "Source", "State"),
        lambda found: _cells(found[0]),
        lambda found: found[1],
        as_json=as_json,
        colours={"draft": "yellow", "paused": "red"},
    )


def _cells(connection: Connection) -> tuple[object, ...]:
    row, own = connection
    names = [one.domain if one.verified_at else f"{one.domain} (not verified)" for one in own]
    return row.provider_id, row.type, row.issuer, names, row.organization_id, row.source, row.state


@app.command()
def show(provider: Provider, as_json: AsJson = False) -> None:
    """Show a connection, without its secrets.

    Example: gatewright sso show acme
    """
    shape = run(lambda ctx: _shown(ctx, provider))
    if as_json:
        print_json(shape)
        return
    for name, value in shape.items():
        if value is not None and not isinstance(value, list | dict):
            typer.echo(f"{name}: {cell(value)}")
    for one in shape["domains"]:
        state = "verified" if one["verified"] else f"not verified; TXT record {one['recordName']}"
        typer.echo(f"domain {one['domain']}: {state}{', required' if one['required'] else ''}")
    for one in (shape["samlConfig"] or {}).get("certificate", ()):
        typer.echo(f"certificate {one['subject']}: ends {one['notAfter']}")


async def _shown(ctx: Context, provider_id: str) -> Any:
    return provider_shape(ctx, await domains.load(ctx, await operator.find(ctx, provider_id)))


@app.command()
def create(  # noqa: PLR0913 - one parameter per option
    provider: Annotated[
        str, typer.Argument(metavar="PROVIDER", help="Provider id: letters a to z, digits, -.")
    ],
    domain: Domains = None,
    issuer: Issuer = None,
    organization: Annotated[
        str | None,
        typer.Option(metavar="ORGANIZATION", help="Id or slug; by default it is for the whole service."),
    ] = None,
    client_id: ClientId = None,
    client_secret_file: SecretFile = None,
    metadata: MetadataFile = None,
    fields: FieldsFile = None,
    name: Name = None,
    state: State = None,
    default_role: Role = None,
    group_role: GroupRoles = None,
    required_domain: Required = None,
    as_json: AsJson = False,
) -> None:
    """Create a connection.

    The connection is to an OpenID provider or, with --metadata, to a SAML identity provider. Its domains need no proof.
    Prints the URLs to register at the provider.

    Example: gatewright sso create acme --domain acme.example --issuer https://login.acme.example
    --client-id gatewright --client-secret-file secret.txt
    """
    if not PROVIDER_ID.fullmatch(provider):
        raise typer.BadParameter("a provider id has 1 to 40 lower-case letters, digits and -")
    if not domain:
        raise typer.BadParameter("name the domains of its users, with --domain")
    sent = read_fields(fields, client_id, client_secret_file, metadata, group_role) | given(
        domain=",".join(domain), issuer=issuer, name=name, state=state, defaultRole=default_role,
        requiredDomains=required_domain,
    )  # fmt: skip

    async def job(ctx: Context) -> Any:
        organization_id = await ctx.in_new_transaction(lambda own: _organization(own, organization))
        prepared = await operator.prepare(ctx, sent, None)
        row = await operator.create(ctx, provider, organization_id, prepared, ConnectionSource.CLI)
        return provider_shape(ctx, await domains.load(ctx, row))

    shape = run(job)
    if as_json:
        print_json(shape)
    else:
        typer.echo(f"Created {provider}; it is {shape['state']}. Register at the provider:")
        typer.echo(f"  redirect URI: {shape['redirectURI']}")
        if shape["type"] == "saml":
            typer.echo(f"  metadata and entity id: {shape['spMetadataUrl']}")
    if not check_config.read()[SsoSettings].enabled:
        typer.echo("Single sign-on is off; set sso.enabled to use the connection.", err=True)


async def _organization(ctx: Context, name: str | None) -> str | None:
    return None if name is None else (await organizations.find(ctx, name)).id


@app.command()
def update(  # noqa: PLR0913 - one parameter per option
    provider: Provider,
    domain: Domains = None,
    issuer: Issuer = None,
    client_id: ClientId = None,
    client_secret_file: SecretFile = None,
    metadata: MetadataFile = None,
    fields: FieldsFile = None,
    name: Name = None,
    state: State = None,
    default_role: Role = None,
    group_role: GroupRoles = None,
    required_domain: Required = None,
    revoke_other_sessions: Annotated[
        bool,
        typer.Option(
            "--revoke-other-sessions", help="End other sessions of users who must sign in through it."
        ),
    ] = False,
) -> None:
    """Change a connection.

    Another issuer, client id or endpoint deletes the identities of the connection, and ends the sessions that were
    opened through it.

    Example: gatewright sso update acme --state active
    """
    sent = read_fields(fields, client_id, client_secret_file, metadata, group_role) | given(
        domain=",".join(domain or ()) or None, issuer=issuer, name=name, state=state, defaultRole=default_role,
        requiredDomains=required_domain, revokeOtherSessions=revoke_other_sessions or None,
    )  # fmt: skip
    if not sent:
        raise typer.BadParameter("name what to change; gatewright sso update --help lists the options")
    row = run(lambda ctx: _update(ctx, provider, sent))
    typer.echo(f"Changed {row.provider_id}; it is {row.state}.")


@app.command()
def pause(provider: Provider) -> None:
    """Stop sign-ins through a connection.

    Its users keep their sessions. gatewright sso update PROVIDER --state active allows sign-ins again.

    Example: gatewright sso pause acme
    """
    run(lambda ctx: _update(ctx, provider, {"state": ConnectionState.PAUSED.value}))
    typer.echo(f"Paused {provider}.")


async def _update(ctx: Context, provider_id: str, sent: Mapping[str, Any]) -> ConnectionRow:
    seen = await ctx.in_new_transaction(lambda own: operator.find(own, provider_id))
    prepared = await operator.prepare(ctx, sent, seen)
    users = await other_sessions.lock_users(ctx, seen) if sent.get("revokeOtherSessions") else ()
    row = await operator.update(ctx, seen, prepared)
    await other_sessions.end(ctx, row, users)
    return row


@app.command()
def delete(provider: Provider, yes: Yes = False) -> None:
    """Delete a connection.

    The identities of its users are deleted, and the sessions that were opened through it end.

    Example: gatewright sso delete acme
    """
    confirm(f"Delete the connection {provider}?", yes)

    async def job(ctx: Context) -> None:
        await operator.remove(ctx, await operator.find(ctx, provider))

    run(job)
    typer.echo(f"Deleted {provider}.")


@app.command("test-metadata")
def check_metadata(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="File with SAML metadata, - for standard input, or the issuer of an OpenID provider.",
        ),
    ],
) -> None:
    """Show the contents of a provider's metadata.

    Nothing is stored.

    Example: gatewright sso test-metadata https://login.acme.example
    """
    if source.startswith(("https://", "http://")):
        job = partial(_discover, issuer=source)
    else:
        job = partial(_read_metadata, text=read_file("SOURCE", source))
    for name, value in run(job).items():
        typer.echo(f"{name}: {cell(value)}")


async def _discover(ctx: Context, issuer: str) -> Mapping[str, object]:
    try:
        found = await ctx.port[ProviderDiscovery].discover(issuer, document_url(issuer))
    except DiscoveryError as fault:
        raise ConfigurationError(f"{issuer}: {fault.reason}") from None
    names = ("issuer", "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")
    used = {name: found.document[name] for name in names if isinstance(found.document.get(name), str)}
    return {**used, "client authentication": f"client_secret_{found.token_auth}"}


async def _read_metadata(ctx: Context, text: str) -> Mapping[str, object]:
    try:
        found = ctx.port[SamlLibrary]().read_metadata(text.encode(), ctx.now)
    except MetadataRefused as fault:
        raise ConfigurationError(f"SOURCE: {fault}") from None
    certificates = {
        f"certificate {number}": f"{one.subject}, ends {one.not_after:%Y-%m-%d}"
        for number, one in enumerate(found.certificates, 1)
    }
    return {
        "entity id": found.entity_id,
        "sign-in URL": found.sign_in_url,
        "logout URL": found.logout_url,
        **certificates,
    }
