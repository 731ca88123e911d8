"""The service's own pages, rendered with autoescape; they contain no links."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from handlers.reply import Page

# defence: V81 content-security
_CONTENT_SECURITY_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,  # defence: V81 autoescape
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def error(app_name: str, code: str, description: str) -> Page:
    """Render an error code and its description."""
    html = _templates.get_template("error.html").render(app_name=app_name, code=code, description=description)
    return Page(html, (_CONTENT_SECURITY_POLICY,))
