"""The settings: defaults, a TOML file, GATEWRIGHT_* variables; read once and immutable."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from domain.trusted_origins import TrustedOrigins
from server.config.durations import OutOfRange
from server.config.groups.accounts import AccountLinking
from server.config.groups.admin import Admin
from server.config.groups.api_keys import ApiKeys
from server.config.groups.authentication import EmailPassword, SignUp
from server.config.groups.database import Database
from server.config.groups.email_codes import EmailCodes
from server.config.groups.emails import ChangeEmail, EmailVerification
from server.config.groups.group import Group
from server.config.groups.jwt import Jwt
from server.config.groups.limits import Limits
from server.config.groups.magic_links import MagicLinks
from server.config.groups.mail import Mail
from server.config.groups.observability import Audit, Log, Metrics, Tracing
from server.config.groups.pages import Pages
from server.config.groups.passkeys import Passkey
from server.config.groups.password import Password, PasswordReset
from server.config.groups.server import Documents, Server
from server.config.groups.session import SessionSettings
from server.config.groups.social import Provider, Social
from server.config.groups.two_factor import TwoFactor
from server.config.groups.users import DeleteUser, Username
from server.config.sources import (
    CONFIG,
    FILE_SUFFIX,
    PREFIX,
    ConfigurationError,
    Environment,
    fields,
    in_table,
    merged,
    read_file,
    renamed,
    suggestion,
    variable,
)
from server.config.value_types import BasePath, Items, Network, OptionalUrl, Origin, range_of

FILE = "gatewright.toml"
"""The settings file in the working folder that is read if GATEWRIGHT_CONFIG is not set."""

_BEYOND = ("greater_than_equal", "less_than_equal")
"""The pydantic error types for a number or duration out of range."""

_KUBERNETES = re.compile(
    r"GATEWRIGHT_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)", re.ASCII
)
"""Variables that Kubernetes sets for Services, in addition to some with a URL."""

ProviderId = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")]


class Settings(BaseModel):
    """Everything the operator decides. `profiles.py` fills in what the profile supplies."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", validate_default=True, hide_input_in_errors=True
    )

    profile: Literal["production", "development"] = Field(
        default="production",
        description="`development` uses defaults for local use; `production` requires explicit values.",
    )
    base_url: Origin = Field(
        default="", description="Public origin of the service; links are built from it alone."
    )
    base_path: BasePath = Field(default="", description="Path prefix of all operations, such as /api/auth.")
    allow_http: bool = Field(
        default=False, description="Permits an http `base_url` and insecure cookies in production."
    )
    secrets: Annotated[tuple[SecretStr, ...], Items] = Field(
        default=(), description="Service keys of at least 32 bytes, the newest first."
    )
    database_url: SecretStr = Field(
        default=SecretStr(""),
        description="PostgreSQL or SQLite database. A PostgreSQL URL names one host: the primary or a proxy.",
    )
    app_name: str = Field(
        default="Gatewright",
        min_length=1,
        max_length=128,
        description="Name shown in emails and authenticator apps.",
    )
    trusted_origins: Annotated[tuple[str, ...], Items] = Field(
        default=(),
        description="Origins that may send cookies and be redirected to, in addition to `base_url`.",
    )
    trusted_proxies: Annotated[tuple[Network, ...], Items] = Field(
        default=(), description="Networks of proxies whose X-Forwarded-For is trusted."
    )
    default_redirect_url: OptionalUrl = Field(
        default=None,
        description="Redirect target of a provider sign-in without callbackURL; by default `base_url` and /.",
    )
    require_authentication: bool = Field(
        default=True,
        description="False: without a session, session operations return empty bodies instead of 401.",
    )
    enable_session_listing: bool = Field(default=True, description="Whether /list-sessions exists.")
    enable_session_revocation: bool = Field(
        default=True, description="Whether the three revoke operations exist."
    )
    reset_token_expiry_hours: int = Field(
        default=24, ge=1, le=87600, description="Lifetime of a reset link, in hours."
    )
    require_current_password: bool = Field(
        default=True, description="False: /change-password accepts a missing currentPassword."
    )
    send_email_notifications: bool = Field(
        default=True, description="Whether users are notified of changes by email."
    )

    database: Database = Database()
    server: Server = Server()
    session: SessionSettings = SessionSettings()
    email_password: EmailPassword = EmailPassword()
    sign_up: SignUp = SignUp()
    username: Username = Username()
    password: Password = Password()
    password_reset: PasswordReset = PasswordReset()
    email_verification: EmailVerification = EmailVerification()
    change_email: ChangeEmail = ChangeEmail()
    delete_user: DeleteUser = DeleteUser()
    two_factor: TwoFactor = TwoFactor()
    account_linking: AccountLinking = AccountLinking()
    social: Social = Social()
    jwt: Jwt = Jwt()
    admin: Admin = Admin()
    api_keys: ApiKeys = ApiKeys()
    magic_links: MagicLinks = MagicLinks()
    email_codes: EmailCodes = EmailCodes()
    pages: Pages = Pages()
    passkey: Passkey = Passkey()
    providers: dict[ProviderId, Provider] = Field(default={}, description="The providers, by id.")
    documents: Documents = Documents()
    mail: Mail = Mail()
    limits: Limits = Limits()
    audit: Audit = Audit()
    log: Log = Log()
    metrics: Metrics = Metrics()
    tracing: Tracing = Tracing()

    def groups(self) -> Iterator[Group]:
        """Yield the groups of settings, in the order of their declaration."""
        for name in type(self).model_fields:
            if isinstance(group := getattr(self, name), Group):
                yield group

    def parsed_origins(self) -> TrustedOrigins:
        """Return the trusted origins; in development, if none is set, also the loopback origins.

        Raises ValueError that names an invalid entry.
        """
        loopback = self.profile == "development" and "trusted_origins" not in self.model_fields_set
        return TrustedOrigins.parse(self.base_url, self.trusted_origins, loopback=loopback)


def load(environ: Mapping[str, str], directory: Path) -> Settings:
    """Return the settings as written; a service starts with those of `server.services.load_settings`.

    The file is that of GATEWRIGHT_CONFIG, else `gatewright.toml` in `directory`. Raises ConfigurationError with one
    line per unknown name, wrong type or value out of range.
    """
    named = environ.get(CONFIG)
    path = directory / (named or FILE)
    environment = Environment(Settings, environ, former_keys())
    values = merged(renamed(read_file(path, required=bool(named)), former_keys()), environment.values)
    try:
        return Settings.model_validate(values)
    except ValidationError as faults:
        lines = [_line(fault, environment, path) for fault in faults.errors()]
    raise ConfigurationError("\n".join(dict.fromkeys(lines)))


def former_keys() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the deprecated keys that still work, each with the key that replaced it."""
    return {
        tuple(key.split(".")): (name, key.rpartition(".")[2])
        for name, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Group)
        for key in field.annotation.former_keys
    }


def deprecated_keys(environ: Mapping[str, str], directory: Path) -> list[str]:
    """Return a line for each deprecated key in the file or the environment, with the key to use now.

    Raises ConfigurationError.
    """
    named = environ.get(CONFIG)
    written = read_file(directory / (named or FILE), required=bool(named))
    return [
        f"{'.'.join(former)}: deprecated, use {'.'.join(key)} or {variable(key)}"
        for former, key in former_keys().items()
        if former[1] in in_table(written, former[0])
        or {variable(former), variable(former) + FILE_SUFFIX} & environ.keys()
    ]


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the GATEWRIGHT_* variables that name no setting, each with the problem and the nearest name."""
    return Environment(Settings, environ, former_keys()).unknown


def misnamed_variables(environ: Mapping[str, str]) -> list[str]:
    """Return a line for each unknown variable, except those that Kubernetes sets for a Service called gatewright."""
    return [
        f"{name}: {fault}"
        for name, fault in unknown_variables(environ).items()
        if not (_KUBERNETES.fullmatch(name) or "://" in environ[name])
    ]


def describe_sources(environ: Mapping[str, str], directory: Path) -> str:
    """Return a short description of the sources: the file, and the number of variables."""
    path = directory / environ.get(CONFIG, FILE)
    number = sum(name.startswith(PREFIX) and name != CONFIG for name in environ)
    variables = f"{number} {PREFIX}… variable{'' if number == 1 else 's'}"
    if path.exists():
        return f"{path}, {variables}" if number else str(path)
    if number:
        return f"{variables}; there is no {path}"
    return (
        f"none in {path} or the environment; for a first try: GATEWRIGHT_PROFILE=development gatewright serve"
    )


def _line(fault: Mapping[str, Any], environment: Environment, file: Path) -> str:
    """Return the problem of one value and its source, without the value, which may be a secret."""
    names = tuple(str(part) for part in fault["loc"] if part != "[key]")
    found = (environment.origins.get(names[:length]) for length in range(len(names), 0, -1))
    origin = next((name for name in found if name), str(file))
    return f"{'.'.join(names)}: {_says(fault, names)} ({origin})"


def _says(fault: Mapping[str, Any], names: tuple[str, ...]) -> str:
    if fault["type"] == "extra_forbidden":
        return f"is not a setting{suggestion('.'.join(names), map('.'.join, dict(fields(Settings))))}"
    if fault["type"] in _BEYOND or isinstance(fault.get("ctx", {}).get("error"), OutOfRange):
        field = dict(fields(Settings)).get(names)
        if field is not None and (allowed := range_of(field)) is not None:
            return f"should be {allowed}"
    return str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input ")
