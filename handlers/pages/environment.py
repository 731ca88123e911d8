"""The Jinja environment of the hosted pages: built-in templates, and templates of the operator that replace them."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, nodes

from domain.localization import LANGUAGES, localization
from handlers.templating import loader, template_environment

TEMPLATES = Path(__file__).parent / "templates"

_REFERENCES = (nodes.Extends, nodes.FromImport, nodes.Import, nodes.Include)


# Twice, because an error page falls back to the built-in templates when those of the operator fail.
@lru_cache(maxsize=2 * len(LANGUAGES))
def environment(templates_dir: Path | None = None, language: str = "en") -> Environment:
    """Return the Jinja environment of the templates for one of LANGUAGES.

    Templates in `templates_dir`, the operator's folder, take precedence over the built-in ones. With such a folder, all
    templates run in a sandbox.
    """
    return template_environment(
        _folders(templates_dir),
        # Names, user agents and parts of URLs are chosen by strangers.
        autoescape=True,  # defence: V81 autoescape
        # The sandbox bounds what a template of the operator can call; it may have been copied from anywhere.
        is_trusted=templates_dir is None,
        only=localization(language),
    )


def _folders(templates_dir: Path | None) -> Sequence[Path]:
    return [TEMPLATES] if templates_dir is None else [templates_dir, TEMPLATES]


def built_in() -> Sequence[str]:
    """Return the names of the built-in templates, such as `account/profile.html`."""
    return environment().list_templates(extensions=("html",))


def template_error(templates_dir: Path) -> str | None:
    """Return the first error in the operator's templates as one line; None if there is none."""
    made, files = environment(templates_dir), loader(_folders(templates_dir))
    names = files.list_templates()
    for name in (one for one in names if one.endswith(".html")):
        try:
            source, file, _ = files.get_source(made, name)
            made.compile(source, name, file)
            absent = next(_absent(made.parse(source, name, file), names), None)
        except TemplateSyntaxError as fault:
            return f"{fault.filename}, line {fault.lineno}: {fault.message}"
        except (OSError, UnicodeDecodeError):
            return f"{templates_dir / name}: cannot be read"
        if absent is not None:
            return f"{file}, {absent}"
    return None


def _absent(template: nodes.Template, names: Sequence[str]) -> Iterator[str]:
    """Yield a message with the line number for each reference to a missing template."""
    node: Any
    for node in template.find_all(_REFERENCES):
        if isinstance(node.template, nodes.Const) and node.template.value not in names:
            yield f"line {node.lineno}: there is no template {node.template.value}"
