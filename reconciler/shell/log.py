"""The log: one line an event, text for people or JSON for machines."""

from typing import TextIO

import structlog


def configure_log(form: str, stream: TextIO) -> None:
    """Set the process's log up.

    Args:
        form: `text`, `json`, or `auto`: text if the stream is a terminal.
        stream: Where lines go.
    """
    terminal = stream.isatty()
    text = form == "text" or (form == "auto" and terminal)
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=terminal)
        if text
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.EventRenamer("msg"),
            renderer,
        ]
        if not text
        else [
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
