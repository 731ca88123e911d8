"""Read the fields of a single sign-on connection from the options and files of a command."""

import json
import sys
from pathlib import Path
from typing import Any

import typer
from jsonschema_rs import Draft202012Validator

from codegen.bundle import bundle
from codegen.version_3_1 import to_3_1
from server.cli.options import given
from server.config.sources import ConfigurationError, file_errors


def read_fields(
    fields: str | None,
    client_id: str | None,
    secret_file: str | None,
    metadata: str | None,
    group_roles: list[str] | None,
) -> dict[str, Any]:
    """Return the fields of a connection that the options and the files they name contain. Raises ConfigurationError.

    `fields`, `secret_file` and `metadata` are paths; options that were not given are None.
    """
    sent = _read_document(fields)
    oidc = given(
        clientId=client_id,
        clientSecret=None if secret_file is None else read_file("--client-secret-file", secret_file).strip(),
    )
    if oidc:
        sent["oidcConfig"] = {**sent.get("oidcConfig", {}), **oidc}
    if metadata is not None:
        text = read_file("--metadata", metadata)
        sent["samlConfig"] = {**sent.get("samlConfig", {}), "idpMetadata": {"metadata": text}}
    if group_roles:
        sent["groupRoles"] = dict(_group_role(text) for text in group_roles)
    return sent


def _group_role(text: str) -> tuple[str, str]:
    group, separator, role = text.rpartition("=")
    if not separator:
        raise typer.BadParameter("--group-role: name a group and its roles, such as ops=admin")
    return group, role


def _read_document(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        sent = json.loads(read_file("--fields", path))
    except json.JSONDecodeError as fault:
        raise ConfigurationError(f"--fields: {path}: line {fault.lineno}: {fault.msg}") from None
    if not isinstance(sent, dict):
        raise ConfigurationError(f"--fields: {path}: must be a JSON object")
    faults = _validator().iter_errors({"providerId": "any", **sent})
    lines = [f"--fields: {path}: {'.'.join(map(str, one.instance_path))}: {one.message}" for one in faults]
    if lines:
        raise ConfigurationError("\n".join(lines))
    return sent


def _validator() -> Draft202012Validator:
    """Return the validator of the fields of a connection, by the OpenAPI document."""
    components = to_3_1(bundle())["components"]
    schema = {"$ref": "#/components/schemas/UpdateSsoProviderRequest", "components": components}
    return Draft202012Validator(schema)


def read_file(option: str, path: str) -> str:
    """Return the text of the file that an option names; `-` is standard input. Raises ConfigurationError."""
    if path == "-":
        return sys.stdin.read()
    with file_errors(f"{option}: {path}"):
        return Path(path).read_text("utf-8")
