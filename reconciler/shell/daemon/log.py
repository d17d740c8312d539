"""The log: one line an event, text for people or JSON for machines, and no secret in either.

What libraries log and warn of comes into it as lines of its kind.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import TextIO

import structlog

from reconciler.dialects.object_boundary import trace_of
from reconciler.model.message_text import LONGEST_MESSAGE_BYTES, cut
from reconciler.shell.git.masking import mask_of


class _OfLibraries(logging.Handler):
    """Takes what libraries log, from warnings on."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record, of an exception where it came from."""
        try:
            said = record.getMessage()
        except (TypeError, ValueError):  # it and its values do not fit
            said = str(record.msg)
        log = structlog.get_logger()
        tell = log.error if record.levelno >= logging.ERROR else log.warning
        error = record.exc_info[1] if record.exc_info else None
        more = {"trace": trace_of(error)} if isinstance(error, Exception) else {}
        tell(cut(said, LONGEST_MESSAGE_BYTES), logger=record.name, **more)


_OF_LIBRARIES = _OfLibraries(logging.WARNING)


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
    logging.getLogger().addHandler(_OF_LIBRARIES)
    logging.captureWarnings(capture=True)


def _redacted(value: object, mask: Callable[[str], str]) -> object:
    """Return a value of an event without secrets, however deep they are in it."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {str(key): _redacted(one, mask) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(one, mask) for one in value]
    return value if value is None or isinstance(value, int | float) else mask(str(value))
