"""Lines of a pipe: each comes whole, and work is done in between."""

import os

from reconciler.shell.processes.signals import lines_of


def test_lines_come_whole_however_they_are_written() -> None:
    """In pieces, several at once; what has no end is none."""
    out, into = os.pipe()
    os.write(into, b"first\nsec")
    lines = lines_of(out, lambda: False)
    found = [next(lines)]
    os.write(into, b"ond\nthird\nrest")
    os.close(into)

    assert [b"first", b"second", b"third"] == [*found, *lines]
    os.close(out)


def test_work_is_done_while_no_line_is_there() -> None:
    """After a line, a piece after the other, until there is no more or a line comes."""
    out, into = os.pipe()
    done: list[int] = []

    def work_on() -> bool:
        done.append(len(done))
        if len(done) == 3:
            os.write(into, b"second\n")
        return len(done) < 5

    os.write(into, b"first\n")
    lines = lines_of(out, work_on)
    found = [next(lines), next(lines)]
    seen = len(done)
    os.close(into)

    assert ([b"first", b"second"], 3, []) == (found, seen, [*lines])
    os.close(out)


def test_a_line_that_waits_is_answered_before_any_work() -> None:
    """Questions come first."""
    out, into = os.pipe()
    os.write(into, b"first\nsecond\n")
    os.close(into)

    def work_on() -> bool:
        raise AssertionError("there was a line")

    lines = lines_of(out, work_on)
    assert [b"first", b"second"] == [next(lines), next(lines)]
    os.close(out)
