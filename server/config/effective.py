"""The settings in force: the value of each, where it comes from, and where it is documented."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import SecretStr

from server.config import durations
from server.config.base import Settings
from server.config.settings import FORMER_KEYS, AllSettings, read_environment, settings_file
from server.config.sources import fields, line_numbers, nodes, table_of, values

MASK = "********"

Source = Literal["default", "profile", "file", "variable"]


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """One setting with the value in force, and where the value comes from."""

    key: str
    value: Any
    is_secret: bool
    is_hidden: bool
    """Whether the value is a secret that is set. Defaults are public, such as `database` of `limits.store`."""
    source: Source
    origin: str
    """`default`, `profile development`, a file with its line (`gatewright.toml:3`), or the variable."""
    anchor: str
    """The heading of its group in the reference of settings."""
    description: str
    """Its description in the reference, in Markdown."""

    @property
    def group(self) -> str:
        """The key without its last part; empty for a setting outside of groups."""
        return self.key.rpartition(".")[0]

    @property
    def text(self) -> str:
        """The value as it would be set; of a secret only whether it is set."""
        if self.is_hidden:
            return "set"
        return "not set" if self.is_secret and not self.value else shown(self.value)


def effective_settings(
    settings: Settings, environ: Mapping[str, str], directory: Path
) -> Iterator[EffectiveSetting]:
    """Yield every setting, with its origin in the environment and the file from which `settings` were loaded.

    The file is read again, so a service that shows its settings calls this at startup. Raises ConfigurationError.
    """
    file = settings_file(environ, directory)
    lines = line_numbers(file, FORMER_KEYS)
    environment = read_environment(environ)
    in_environment = set(nodes(environment.values))
    defaults = {path: value for path, _, value in values(AllSettings())}
    for path, field, value in values(settings):
        source: Source = "default"
        origin, is_default = "default", path in defaults and value == defaults[path]
        if path in in_environment:
            source, origin = "variable", environment.origin(path) or ""
        elif path in lines:
            source, origin = "file", f"{file.name}:{lines[path]}"
        elif settings.profile == "development" and path in defaults and not is_default:
            source, origin = "profile", "profile development"
        is_secret = _is_secret(field.annotation)
        yield EffectiveSetting(
            key=".".join(path),
            value=value,
            is_secret=is_secret,
            is_hidden=is_secret and bool(value) and not is_default,
            source=source,
            origin=origin,
            anchor=anchor(_section_of(path)),
            description=field.description or "",
        )


def _is_secret(annotation: Any) -> bool:
    return annotation is SecretStr or any(map(_is_secret, get_args(annotation)))


def anchor(section: tuple[str, ...]) -> str:
    """Return the anchor of a section of the reference of settings, such as `mail-smtp`."""
    return "-".join(section) or "the-service"


def _section_of(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the section that documents a setting: the keys of tables (`providers.<id>`) have none of their own."""
    return next(path[:length] for length in range(len(path) - 1, -1, -1) if path[:length] in _SECTIONS)


_SECTIONS = {
    *(path[:-1] for path, _ in fields(AllSettings)),
    *((name,) for name, field in AllSettings.model_fields.items() if table_of(field) is not None),
}


def shown(value: Any, *, is_hidden: bool = False) -> str:
    """Return a value the way it would be set; `is_hidden` masks secrets."""
    if isinstance(value, SecretStr):
        return MASK if is_hidden else value.get_secret_value() or "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, timedelta):
        return durations.spell(value)
    if isinstance(value, tuple | list):
        return ", ".join(shown(entry, is_hidden=is_hidden) for entry in value) or "none"
    if isinstance(value, dict):
        return (
            ", ".join(f"{key} = {shown(entry, is_hidden=is_hidden)}" for key, entry in value.items())
            or "none"
        )
    return "none" if value is None or value == "" else str(value)
