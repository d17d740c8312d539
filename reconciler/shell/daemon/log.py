"""The log: one line an event, text for people or JSON for machines, and no secret in either."""

from collections.abc import Callable, Collection, Mapping
from typing import TextIO

import structlog

from reconciler.shell.git.masking import mask_of


def configure_log(
    stream: TextIO, *, text: bool, colours: bool, secrets: Collection[str] = ()
) -> None:
    """Set the process's log up.

    Args:
        stream: Where lines go.
        text: Lines for people; else JSON for machines.
        colours: Whether text may have colours.
        secrets: What no line may hold, in none of the forms in which it is written.
    """
    mask = mask_of(secrets)

    def redact(
        _log: object, _method: str, event: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        return {key: _redacted(value, mask) for key, value in event.items()}

    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=colours)
        if text
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.EventRenamer("msg"),
            redact,
            renderer,
        ]
        if not text
        else [
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            redact,
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )


def _redacted(value: object, mask: Callable[[str], str]) -> object:
    """Return a value of an event without secrets, however deep they are in it."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {str(key): _redacted(one, mask) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(one, mask) for one in value]
    return value if value is None or isinstance(value, int | float) else mask(str(value))
