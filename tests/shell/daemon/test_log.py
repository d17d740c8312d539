"""The log: no secret in any line, in whatever form somebody wrote it."""

import base64
import io
import json
import logging
import warnings
from urllib.parse import quote, quote_plus

import pytest
import structlog

from reconciler.shell.daemon.log import configure_log

TOKEN = 'p/ss "w+rd'  # noqa: S105  # of tests only

FORMS = [
    pytest.param(TOKEN, id="plain"),
    pytest.param(quote(TOKEN), id="path"),
    pytest.param(quote(TOKEN, safe=""), id="url"),
    pytest.param(quote_plus(TOKEN), id="query"),
    pytest.param(json.dumps({"token": TOKEN}), id="json"),
    pytest.param(base64.b64encode(TOKEN.encode()).decode(), id="base64"),
    pytest.param(base64.urlsafe_b64encode(TOKEN.encode()).decode(), id="base64-url"),
    pytest.param(base64.b64encode(f"me:{TOKEN}".encode()).decode(), id="basic-auth"),
    pytest.param(base64.b64encode(f"user:{TOKEN}!".encode()).decode(), id="basic-auth-longer"),
]


def logged(*, text: bool, **values: object) -> str:
    """Return the line that an event makes."""
    stream = io.StringIO()
    configure_log(stream, text=text, colours=False, secrets=[TOKEN])
    structlog.get_logger().warning(f"before {values['said']} after", **values)
    return stream.getvalue()


@pytest.mark.parametrize("text", [True, False], ids=["text", "json"])
@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_secret_is_logged(form: str, *, text: bool) -> None:
    """In the message, in a value, deep in a value, in an exception."""
    line = logged(text=text, said=form, deep={"x": [{"y": (form,)}]}, error=ValueError(form))

    assert "before" in line
    assert "after" in line
    for secret in FORMS[:-2]:
        assert str(secret.values[0]) not in line
    shifted = {base64.b64encode(bytes(n) + TOKEN.encode())[4:-4].decode() for n in range(3)}
    assert [] == [digits for digits in shifted if digits in line]


@pytest.mark.filterwarnings("default")
def test_what_libraries_log_is_json_too() -> None:
    """Warnings as well, in one line each, without secrets and without the words of an exception."""
    stream = io.StringIO()
    logging.captureWarnings(capture=False)  # pytest took back what an earlier test had set
    configure_log(stream, text=False, colours=False, secrets=[TOKEN])
    log = logging.getLogger("some.library")
    log.info("not worth a line")
    log.warning("a key is lost:\n%s", TOKEN)
    log.error("it failed", exc_info=ValueError(TOKEN))
    warnings.warn("two versions", RuntimeWarning, stacklevel=1)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    lost, failed, warned = lines
    assert ("warning", "some.library", "a key is lost:\\n***") == (
        lost["level"],
        lost["logger"],
        lost["msg"],
    )
    assert ("error", "it failed") == (failed["level"], failed["msg"])
    assert "ValueError" == failed["trace"]
    assert "RuntimeWarning: two versions" in warned["msg"]


def test_values_stay_values() -> None:
    """Numbers and absent moments are no texts in JSON."""
    line = json.loads(logged(text=False, said="x", seconds=0.5, faults=2, recheck_at=None))

    assert (0.5, 2, None) == (line["seconds"], line["faults"], line["recheck_at"])
