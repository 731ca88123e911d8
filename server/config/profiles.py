"""Complete the settings with the defaults of the profile, and check them."""

import contextlib
import os
import sys
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr
from sqlalchemy import URL

from domain import tokens
from server.config import settings
from server.config.base import GroupType, Settings
from server.config.groups.admin import AdminSettings
from server.config.groups.api_keys import ApiKeySettings
from server.config.groups.mail import MailSettings
from server.config.groups.observability import LogSettings
from server.config.groups.server import ServerSettings
from server.config.sources import CONFIG, ConfigurationError, variable
from server.config.validation import Check, problems

SECRET_FILE = "gatewright.secret"  # noqa: S105 - the name of a file
VERIFIER_FILE = "gatewright.verifier"
"""The token of the verifier `dev`, with which a service verifies API keys."""
DATABASE_FILE = "gatewright.db"
_SAMPLE = Path(__file__).parents[1] / "templates" / "development.toml"


def load(environ: Mapping[str, str], directory: Path, checks: Iterable[Check] = ()) -> Settings:
    """Return the settings: read, completed by the profile, and checked by the groups and by `checks`.

    A service starts with those of `server.services.load_settings`, which knows the checks of all packages. In
    development files with a secret and a verifier token are placed in `directory`. Raises ConfigurationError with one
    line per problem, each naming the key.
    """
    completed = complete(settings.load(environ, directory), directory)
    found = list(problems(completed, checks))  # defence: R43 all-problems
    if found:
        raise ConfigurationError("\n".join(found))
    return completed


def complete(written: Settings, directory: Path) -> Settings:
    """Return settings completed by their profile, but not checked."""
    return _with_development_defaults(written, directory) if written.profile == "development" else written


def create_settings_file(environ: Mapping[str, str], directory: Path) -> Path | None:
    """Create `gatewright.toml` with the development profile, if the environment asks for it and no file exists.

    Other commands in the folder then use the same settings. Return the file if it was created.
    """
    if environ.get(variable(("profile",))) != "development" or environ.get(CONFIG):
        return None
    path = settings.settings_file(environ, directory)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(_SAMPLE.read_bytes())
    except OSError:  # It exists, or the folder is read-only.
        return None
    return path


def warnings(environ: Mapping[str, str], directory: Path) -> list[str]:
    """Return a line for each unknown variable and deprecated key, which do not stop the start.

    Raises ConfigurationError.
    """
    unknown = [f"{name}: {fault}" for name, fault in settings.unknown_variables(environ).items()]
    return [*unknown, *settings.deprecated_keys(environ, directory)]


def verifier_file(chosen: Settings, directory: Path) -> Path | None:
    """Return the file with the token of the verifier that the development profile supplied, or None."""
    path = directory / VERIFIER_FILE
    supplied = chosen.profile == "development" and chosen[ApiKeySettings].verifies and path.exists()
    return (
        path
        if supplied and ("dev", path.read_text("utf-8").strip()) in chosen[ApiKeySettings].verifier_tokens()
        else None
    )


def _with_development_defaults(written: Settings, directory: Path) -> Settings:
    supplied: dict[str, Any] = {}
    if not written.base_url:
        # No passkey can exist at an IP address.
        supplied["base_url"] = f"http://localhost:{written[ServerSettings].port}"
    if not written.database_url.get_secret_value():
        url = URL.create("sqlite+aiosqlite", database=str(directory.absolute() / DATABASE_FILE))
        supplied["database_url"] = SecretStr(url.render_as_string(hide_password=False))
    if not written.secrets:
        supplied["secrets"] = (SecretStr(_kept_secret(directory / SECRET_FILE)),)
    log_format = "console" if sys.stderr.isatty() else written[LogSettings].format
    completed = written.model_copy(update=supplied).replace(
        _with_defaults(written[ServerSettings], host="localhost"),
        _with_defaults(written[LogSettings], format=log_format),
        _with_defaults(written[MailSettings], sender="console", mailbox=_is_private(written)),
    )
    return _with_verifier(_with_enabled_groups(completed), directory)


def _with_defaults(group: GroupType, **defaults: object) -> GroupType:
    """Return a group with these values for the settings that are not set."""
    unset = {name: value for name, value in defaults.items() if name not in group.model_fields_set}
    return group.model_copy(update=unset)


def _with_enabled_groups(completed: Settings) -> Settings:
    """Return settings with the groups enabled that are so in development, unless other settings exclude them."""
    for group in completed.groups():
        if group.enabled_in_development:
            enabled = _with_defaults(group, enabled=True)
            if set(enabled.problems(completed)) <= set(group.problems(completed)):
                completed = completed.replace(enabled)
    admin = completed[AdminSettings]
    if admin.enabled:
        impersonation = _with_defaults(admin.impersonation, enabled=True)
        completed = completed.replace(admin.model_copy(update={"impersonation": impersonation}))
    return completed


def _with_verifier(completed: Settings, directory: Path) -> Settings:
    """Return settings with a verifier of API keys whose token is in the directory, unless they name verifiers."""
    keys = completed[ApiKeySettings]
    if not keys.enabled or "verifiers" in keys.model_fields_set:
        return completed
    verifier = SecretStr(f"dev:{_kept_secret(directory / VERIFIER_FILE)}")
    return completed.replace(keys.model_copy(update={"verifiers": (verifier,)}))


def _is_private(written: Settings) -> bool:
    """Return whether only this machine can reach the service, by its listening address and its public URL."""
    public = urlsplit(written.base_url).hostname or written[ServerSettings].host
    return is_local(written[ServerSettings].host) and is_local(public)  # defence: R43 private-mailbox


def is_local(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _kept_secret(path: Path) -> str:
    """Return the secret in the file; create it at the first call, readable by its owner only.

    The file is created atomically, so that two services that start concurrently read the same secret.
    """
    try:
        if not path.exists():
            _keep(path, tokens.token(64))
        return path.read_text("utf-8").strip()
    except (OSError, ValueError) as fault:
        raise ConfigurationError(
            f"secrets: {path} cannot be read or made ({fault.__class__.__name__})"
        ) from None


def _keep(path: Path, secret: str) -> None:
    draft = path.with_name(f"{path.name}.{tokens.token(8)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(secret + "\n")
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
