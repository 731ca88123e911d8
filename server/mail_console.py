"""The sender of mail for development: it prints (behaviour 8.2). Imported where it is configured, for it loads rich."""

from rich.console import Console

from server.mail import Mail


class ConsoleSender:
    """Prints what one needs while developing: to whom, what, and the link or the code."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()

    async def send(self, mail: Mail) -> None:
        """Print recipient, subject, and link or code, each on a line that is never wrapped."""
        self._console.rule(f"[bold]mail: {mail.template}", align="left")
        for label, value in (
            ("to", mail.to),
            ("subject", mail.subject),
            ("link", mail.link),
            ("code", mail.code),
        ):
            if value is not None:
                self._console.print(f"{label:8} {value}", markup=False, highlight=False, soft_wrap=True)
