"""What may have happened to the file of a table, by a name that says it."""

import os
import sqlite3
from pathlib import Path

import pytest

from reconciler.shell.reading.tables import CHECK_BYTES


def cut(place: Path) -> None:
    """Lose the second half, as a full disk does."""
    os.truncate(place, place.stat().st_size // 2)


def scramble(place: Path) -> None:
    """Change some bytes of every page but the first."""
    data = bytearray(place.read_bytes())
    for start in range(4096 + 100, len(data), 512):
        data[start] ^= 0x55
    place.write_bytes(data)


def forge(place: Path) -> None:
    """Replace what is behind each checksum, as a person with an editor would."""
    with sqlite3.connect(place) as connection:
        rows = connection.execute("SELECT key, content FROM entry").fetchall()
        forged = [(content[:CHECK_BYTES] + b"[0,false,[]]", key) for key, content in rows]
        connection.executemany("UPDATE entry SET content = ? WHERE key = ?", forged)
    connection.close()


def swap(place: Path) -> None:
    """Put what one key stands for behind another, checksum and all."""
    with sqlite3.connect(place) as connection:
        rows = connection.execute("SELECT key, content FROM entry").fetchall()
        moved = [(content, key) for (_, content), (key, _) in zip(rows, rows[::-1], strict=True)]
        connection.executemany("UPDATE entry SET content = ? WHERE key = ?", moved)
    connection.close()


def of_another_type(place: Path) -> None:
    """Write numbers where contents were."""
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE entry SET content = 1, day = 'never'")
    connection.close()


def of_another_program(place: Path) -> None:
    """Put another table there."""
    place.unlink()
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE entry (name TEXT)")
    connection.close()


DAMAGES = [
    pytest.param(cut, id="cut off"),
    pytest.param(scramble, id="scrambled"),
    pytest.param(lambda place: place.write_bytes(b""), id="empty"),
    pytest.param(lambda place: place.write_bytes(b"no table\n" * 900), id="text"),
    pytest.param(forge, id="edited"),
    pytest.param(swap, id="moved to other keys"),
    pytest.param(of_another_type, id="of another type"),
    pytest.param(of_another_program, id="another program's"),
]
