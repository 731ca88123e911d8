"""The settings: defaults, a TOML file, GATEWRIGHT_* variables; read once and immutable."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, create_model

from models.discovery import import_modules
from server.config import groups
from server.config.base import Group, GroupId, NamedGroup, Settings
from server.config.durations import OutOfRange
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
from server.config.value_types import range_of

FILE = "gatewright.toml"
"""The settings file in the working folder that is read if GATEWRIGHT_CONFIG is not set."""

_BEYOND = ("greater_than_equal", "less_than_equal")
"""The pydantic error types for a number or duration out of range."""

_KUBERNETES = re.compile(
    r"GATEWRIGHT_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)", re.ASCII
)
"""Variables that Kubernetes sets for Services, in addition to some with a URL."""


def _group_classes() -> list[type[Group]]:
    import_modules(groups)
    classes = {*Group.__subclasses__(), *NamedGroup.__subclasses__()}
    return sorted((group for group in classes if group.key), key=lambda group: group.key)


def _group_fields() -> Iterator[tuple[str, Any]]:
    for group in GROUPS:
        annotation: Any = dict[GroupId, group] if issubclass(group, NamedGroup) else group  # type: ignore[valid-type]
        # An empty table, which becomes an instance: defaults are validated too.
        yield group.key, (annotation, Field(default={}))


GROUPS = _group_classes()
"""The groups that the modules of `server/config/groups/` declare, in the order of their keys."""

FORMER_KEYS = {
    tuple(key.split(".")): (group.key, key.rpartition(".")[2])
    for group in GROUPS
    for key in group.former_keys
}
"""The deprecated keys that still work, each with the key that replaced it."""

AllSettings = create_model("AllSettings", __base__=Settings, **dict(_group_fields()))
"""The model of the settings with all groups; types of parameters name its base class `Settings`."""


def load(environ: Mapping[str, str], directory: Path) -> Settings:
    """Return the settings as written; a service starts with those of `server.services.load_settings`.

    Raises ConfigurationError with one line per unknown name, wrong type or value out of range.
    """
    environment = read_environment(environ)
    values = merged(renamed(_written(environ, directory), FORMER_KEYS), environment.values)
    try:
        return AllSettings.model_validate(values)
    except ValidationError as faults:
        file = settings_file(environ, directory)
        lines = [_line(fault, environment, file) for fault in faults.errors()]
    raise ConfigurationError("\n".join(dict.fromkeys(lines)))


def settings_file(environ: Mapping[str, str], directory: Path) -> Path:
    """Return the settings file: that of GATEWRIGHT_CONFIG, else `gatewright.toml` in `directory`."""
    return directory / (environ.get(CONFIG) or FILE)


def _written(environ: Mapping[str, str], directory: Path) -> dict[str, Any]:
    return read_file(settings_file(environ, directory), required=bool(environ.get(CONFIG)))


def read_environment(environ: Mapping[str, str]) -> Environment:
    """Return the settings of the environment. Raises ConfigurationError."""
    return Environment(AllSettings, environ, FORMER_KEYS)


def deprecated_keys(environ: Mapping[str, str], directory: Path) -> list[str]:
    """Return a line for each deprecated key in the file or the environment, with the key to use now.

    Raises ConfigurationError.
    """
    written = _written(environ, directory)
    return [
        f"{'.'.join(former)}: deprecated, use {'.'.join(key)} or {variable(key)}"
        for former, key in FORMER_KEYS.items()
        if former[1] in in_table(written, former[0])
        or {variable(former), variable(former) + FILE_SUFFIX} & environ.keys()
    ]


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the GATEWRIGHT_* variables that name no setting, each with the problem and the nearest name."""
    return read_environment(environ).unknown


def misnamed_variables(environ: Mapping[str, str]) -> list[str]:
    """Return a line for each unknown variable, except those that Kubernetes sets for a Service called gatewright."""
    return [
        f"{name}: {fault}"
        for name, fault in unknown_variables(environ).items()
        if not (_KUBERNETES.fullmatch(name) or "://" in environ[name])
    ]


def describe_sources(environ: Mapping[str, str], directory: Path) -> str:
    """Return a short description of the sources: the file, and the number of variables."""
    path = settings_file(environ, directory)
    number = sum(name.startswith(PREFIX) and name != CONFIG for name in environ)
    variables = f"{number} {PREFIX}… variable{'' if number == 1 else 's'}"
    if path.exists():
        return f"{path}, {variables}" if number else str(path)
    if number:
        return f"{variables}; there is no {path}"
    hint = "for a first try: GATEWRIGHT_PROFILE=development gatewright serve"
    return f"none in {path} or the environment; {hint}"


def _line(fault: Mapping[str, Any], environment: Environment, file: Path) -> str:
    """Return the problem of one value and its source, without the value, which may be a secret."""
    names = tuple(str(part) for part in fault["loc"] if part != "[key]")
    return f"{'.'.join(names)}: {_says(fault, names)} ({environment.origin(names) or file})"


def _says(fault: Mapping[str, Any], names: tuple[str, ...]) -> str:
    if fault["type"] == "extra_forbidden":
        return f"is not a setting{suggestion('.'.join(names), map('.'.join, dict(fields(AllSettings))))}"
    if fault["type"] in _BEYOND or isinstance(fault.get("ctx", {}).get("error"), OutOfRange):
        field = dict(fields(AllSettings)).get(names)
        if field is not None and (allowed := range_of(field)) is not None:
            return f"should be {allowed}"
    return str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input ")
