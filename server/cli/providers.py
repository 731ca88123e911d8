"""`gatewright providers`: what is configured, and whether it agrees with what the providers publish."""

import asyncio
from typing import Annotated

import typer

from server.cli import check_config
from server.config.settings import Settings
from server.config.sources import ConfigurationError
from server.identity_providers import inspection
from server.identity_providers.configuration import Configuration, configurations
from server.identity_providers.http_client import calls_of

app = typer.Typer(help="Look at the identity providers.", no_args_is_help=True)


@app.callback()
def providers() -> None:
    """Look at the identity providers."""


@app.command("list")
def list_() -> None:
    """List the configured providers with their kind, and what to register with each."""
    settings = check_config.read()
    for one in configurations(settings).values():
        typer.echo(f"{one.traits.id:20}{_kind(one):20}{redirect_uri(settings, one.traits.id)}")


@app.command()
def check(
    provider_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="All of them unless named.")
    ] = None,
) -> None:
    """Ask each provider what it publishes, and say what does not agree with its settings and how to mend it."""
    settings = check_config.read()
    chosen = _chosen(configurations(settings), provider_id)
    problems = asyncio.run(_inspect(settings, chosen))
    for one in chosen:
        typer.echo(f"{one.traits.id}: {_kind(one)}")
        typer.echo(f"  redirect URI to register: {redirect_uri(settings, one.traits.id)}")
        for problem in problems[one.traits.id]:
            typer.echo(f"  problem: {problem}")
        if not problems[one.traits.id]:
            typer.echo(f"  {_verdict(one)}")
    if not chosen:
        typer.echo("No provider is configured.")
    if any(problems.values()):
        raise typer.Exit(1)


def redirect_uri(settings: Settings, provider_id: str) -> str:
    """Return the address that users come back to, as the provider has to know it (behaviour 7.2)."""
    return f"{settings.base_url}{settings.base_path}/callback/{provider_id}"


def _chosen(configured: dict[str, Configuration], provider_id: str | None) -> list[Configuration]:
    if provider_id is None:
        return list(configured.values())
    if provider_id not in configured:
        raise ConfigurationError(f"providers.{provider_id}: is not configured")
    return [configured[provider_id]]


async def _inspect(settings: Settings, chosen: list[Configuration]) -> dict[str, list[str]]:
    """Return the problems of each provider by its id, asking all of them at once."""
    async with calls_of(settings) as calls:
        found = await asyncio.gather(*(inspection.problems(calls, one) for one in chosen))
    return {one.traits.id: problems for one, problems in zip(chosen, found, strict=True)}


def _kind(one: Configuration) -> str:
    return "OpenID Connect" if one.traits.is_openid else "OAuth 2.0"


def _verdict(one: Configuration) -> str:
    if one.traits.is_openid:
        return "what it publishes agrees with the settings"
    return "publishes nothing to compare with; the settings are complete"
