"""The settings: defaults, a TOML file, GATEWRIGHT_* variables; read once, frozen (behaviour chapter 2)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from server import provider_groups, service_groups
from server import setting_groups as groups
from server.sources import CONFIG, ConfigurationError, Environment, TomlFile
from server.values import BasePath, Items, Network, OptionalUrl, Origin

FILE = "gatewright.toml"
"""The settings file looked for in the working folder when GATEWRIGHT_CONFIG names none."""

ProviderId = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")]


class Settings(BaseSettings):
    """Everything the operator decides. `profiles.py` fills in what the profile supplies."""

    model_config = SettingsConfigDict(frozen=True, strict=True, extra="forbid", hide_input_in_errors=True)

    profile: Literal["production", "development"] = Field(
        default="production",
        description="development fills in what a first try needs; production refuses it.",
    )
    base_url: Origin = Field(
        default="", description="Public origin of the service; links are built from it alone."
    )
    base_path: BasePath = Field(default="", description="Path all operations lie under, such as /api/auth.")
    allow_http: bool = Field(
        default=False, description="Lets production run with an http `base_url` and insecure cookies."
    )
    secrets: Annotated[tuple[SecretStr, ...], Items] = Field(
        default=(), description="Service keys of at least 32 bytes, the newest first."
    )
    database_url: SecretStr = Field(default=SecretStr(""), description="PostgreSQL or SQLite database.")
    app_name: str = Field(
        default="Gatewright",
        min_length=1,
        max_length=128,
        description="Name shown in mails and authenticator apps.",
    )
    trusted_origins: Annotated[tuple[str, ...], Items] = Field(
        default=(), description="Origins that may call with cookies and be redirected to, beside `base_url`."
    )
    trusted_proxies: Annotated[tuple[Network, ...], Items] = Field(
        default=(), description="Networks of proxies whose X-Forwarded-For is believed."
    )
    default_redirect_url: OptionalUrl = Field(
        default=None,
        description="Where a provider sign-in leads without callbackURL; by default `base_url` and /.",
    )
    require_authentication: bool = Field(
        default=True,
        description="False: session operations answer empty bodies instead of 401 without a session.",
    )
    enable_session_listing: bool = Field(default=True, description="Whether /list-sessions exists.")
    enable_session_revocation: bool = Field(
        default=True, description="Whether the three revoke operations exist."
    )
    reset_token_expiry_hours: int = Field(
        default=24, ge=1, le=87600, description="Life of a reset link, in hours."
    )
    require_current_password: bool = Field(
        default=True, description="False: /change-password accepts a missing currentPassword."
    )
    send_email_notifications: bool = Field(
        default=True, description="Whether users are told of changes by mail."
    )

    database: service_groups.Database = Field(default=service_groups.Database(), description="The database.")
    server: service_groups.Server = Field(default=service_groups.Server(), description="The HTTP server.")
    session: groups.SessionSettings = Field(
        default=groups.SessionSettings(), description="Sessions and cookies."
    )
    email_password: groups.EmailPassword = Field(
        default=groups.EmailPassword(), description="Password sign-in."
    )
    sign_up: groups.SignUp = Field(default=groups.SignUp(), description="New users.")
    username: groups.Username = Field(default=groups.Username(), description="User names.")
    password: groups.Password = Field(default=groups.Password(), description="Passwords.")
    password_reset: groups.PasswordReset = Field(
        default=groups.PasswordReset(), description="Forgotten passwords."
    )
    email_verification: groups.EmailVerification = Field(
        default=groups.EmailVerification(), description="Verified addresses."
    )
    change_email: groups.ChangeEmail = Field(default=groups.ChangeEmail(), description="Changes of address.")
    delete_user: groups.DeleteUser = Field(default=groups.DeleteUser(), description="Deletion by the user.")
    two_factor: groups.TwoFactor = Field(default=groups.TwoFactor(), description="Second factor.")
    account_linking: provider_groups.AccountLinking = Field(
        default=provider_groups.AccountLinking(), description="Linked accounts."
    )
    oauth: provider_groups.OAuth = Field(
        default=provider_groups.OAuth(), description="Sign-in by a provider."
    )
    providers: dict[ProviderId, provider_groups.Provider] = Field(
        default={}, description="The providers, by id."
    )
    mail: service_groups.Mail = Field(default=service_groups.Mail(), description="Mail.")
    limits: service_groups.Limits = Field(default=service_groups.Limits(), description="Limits.")
    audit: service_groups.Audit = Field(default=service_groups.Audit(), description="Audit records.")
    log: service_groups.Log = Field(default=service_groups.Log(), description="Logging.")
    metrics: service_groups.Metrics = Field(default=service_groups.Metrics(), description="Metrics.")
    tracing: service_groups.Tracing = Field(default=service_groups.Tracing(), description="Traces.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take values from the caller only: `load` brings the file and the environment."""
        return (init_settings,)


def load(environ: Mapping[str, str], directory: Path) -> Settings:
    """Give the settings as written; `server.profiles.load` is what a service starts with.

    The file is GATEWRIGHT_CONFIG's, else `gatewright.toml` in `directory`. Raises ConfigurationError with one
    line per unknown name, wrong type or value out of range.
    """
    named = environ.get(CONFIG)
    path = directory / (named or FILE)
    environment = Environment(Settings, environ)
    file = TomlFile(Settings, path, required=bool(named))
    try:
        return Settings(_build_sources=((environment, file), {}))  # type: ignore[call-arg]  # hidden from mypy
    except ValidationError as faults:
        lines = [
            _line(fault["loc"], fault["type"], fault["msg"], environment, path) for fault in faults.errors()
        ]
    raise ConfigurationError("\n".join(dict.fromkeys(lines)))


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Give the GATEWRIGHT_* variables that name no setting; worth a warning only: Kubernetes injects such."""
    return Environment(Settings, environ).unknown


def _line(
    location: tuple[int | str, ...], kind: str, message: str, environment: Environment, file: Path
) -> str:
    """Say what is wrong with one value, and where it was written; it may be a secret and stays out."""
    names = tuple(str(part) for part in location if part != "[key]")
    found = (environment.origins.get(names[:length]) for length in range(len(names), 0, -1))
    origin = next((name for name in found if name), str(file))
    says = "is no known setting" if kind == "extra_forbidden" else message.removeprefix("Value error, ")
    return f"{'.'.join(names)}: {says.removeprefix('Input ')} ({origin})"
