"""What nobody foresaw fails a test: the boundary around objects lets it out."""

from typing import NoReturn

from reconciler.dialects import object_pass
from reconciler.dialects.object_pass import FaultPlace

CONTAIN = object_pass.unforeseen


def enforce() -> None:
    """Let every exception that nobody foresaw out, in this process."""
    object_pass.unforeseen = _fail


def _fail(error: Exception, place: FaultPlace) -> NoReturn:
    error.add_note(f"while {place.subject or 'the file'} of {place.path} was dealt with")
    raise error
