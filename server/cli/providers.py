"""`gatewright providers`: List and check identity providers."""

import asyncio
import sys
from typing import Annotated

import typer

from server.cli import check_config
from server.cli.output import print_table
from server.config.base import Settings
from server.config.sources import ConfigurationError
from server.identity_providers import inspection
from server.identity_providers.configuration import Configuration, configurations
from server.identity_providers.http_client import calls_of
from server.observability.terminal import paint

app = typer.Typer(help="List and check identity providers.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the configured providers, with the redirect URI to register.

    Example: gatewright providers list
    """
    settings = check_config.read()
    configured = configurations(settings).values()
    rows = [
        (provider.traits.id, _kind(provider), redirect_uri(settings, provider.traits.id))
        for provider in configured
    ]
    if rows:
        print_table(("Provider", "Kind", "Redirect URI"), rows)
    else:
        typer.echo("No provider is configured.")


@app.command()
def check(
    provider_id: Annotated[
        str | None, typer.Argument(metavar="PROVIDER", help="Id of one provider; by default all are checked.")
    ] = None,
) -> None:
    """Compare the settings of providers with what they publish.

    Fails if a provider has a problem, and says how to fix it.

    Example: gatewright providers check google
    """
    settings = check_config.read()
    chosen = _chosen(configurations(settings), provider_id)
    problems = asyncio.run(_inspect(settings, chosen))
    for one in chosen:
        typer.echo(f"{one.traits.id}: {_kind(one)}")
        typer.echo(f"  redirect URI to register: {redirect_uri(settings, one.traits.id)}")
        for problem in problems[one.traits.id]:
            typer.echo(f"  {paint('problem:', 'red', sys.stdout)} {problem}")
        if not problems[one.traits.id]:
            typer.echo(f"  {paint('ok:', 'green', sys.stdout)} {_verdict(one)}")
    if not chosen:
        typer.echo("No provider is configured.")
    if any(problems.values()):
        raise typer.Exit(1)


def redirect_uri(settings: Settings, provider_id: str) -> str:
    """Return the redirect URI of a provider, which has to be registered there."""
    return f"{settings.base_url}{settings.base_path}/callback/{provider_id}"


def _chosen(configured: dict[str, Configuration], provider_id: str | None) -> list[Configuration]:
    if provider_id is None:
        return list(configured.values())
    if provider_id not in configured:
        raise ConfigurationError(f"providers.{provider_id}: is not configured")
    return [configured[provider_id]]


async def _inspect(settings: Settings, configured: "list[Configuration]") -> dict[str, list[str]]:
    """Return the problems of each provider by its id, querying all of them at once."""
    async with calls_of(settings) as calls:
        results = await asyncio.gather(*(inspection.problems(calls, provider) for provider in configured))
    return {provider.traits.id: problems for provider, problems in zip(configured, results, strict=True)}


def _kind(provider: Configuration) -> str:
    return "OpenID Connect" if provider.traits.is_openid else "OAuth 2.0"


def _verdict(provider: Configuration) -> str:
    if provider.traits.is_openid:
        return "the settings match what it publishes"
    return "it publishes nothing to compare with; the settings are complete"
