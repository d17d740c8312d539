"""The log: one line an event, text for people or JSON for machines."""

from typing import TextIO

import structlog


def configure_log(stream: TextIO, *, text: bool, colours: bool) -> None:
    """Set the process's log up.

    Args:
        stream: Where lines go.
        text: Lines for people; else JSON for machines.
        colours: Whether text may have colours.
    """
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=colours)
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
