"""A table of numbers of clusters, as CSV with a head or as YAML; each fault names its place."""

import csv
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from reconciler.errors import UsageError
from reconciler.manifests.text.reader import read
from reconciler.model.message_text import shown

CLUSTER = "cluster"
NUMBER = re.compile(r"[+-]?(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})", re.ASCII)

Columns = Mapping[str, Mapping[str, Fraction]]
"""Name of a column to cluster to number, each in the order of the table."""


def read_table(path: str, data: bytes) -> Columns:
    """Return the numbers of a table; a cluster without a number in a column is not in it.

    Args:
        path: As people named it; one that ends in `.csv` is CSV, any other is YAML.
        data: Its content.

    Raises:
        UsageError: It is no such table; one sentence with file and line.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} must be UTF-8; byte {error.start} is none") from None
    cells = _csv_cells(path, text) if path.endswith(".csv") else _yaml_cells(path, data)
    columns: dict[str, dict[str, Fraction]] = {}
    for at, cluster, column, written in cells:
        known = columns.setdefault(column, {})
        if cluster in known:
            raise UsageError(f"{at}: {shown(cluster)} has a number in {shown(column)} already")
        if NUMBER.fullmatch(written) is None:
            raise UsageError(f"{at}: {shown(written)} in {shown(column)} must be a plain number")
        known[cluster] = Fraction(written)
    if not columns:
        raise UsageError(f"{path} holds no number; write a line for each cluster")
    return columns


def _csv_cells(path: str, text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield place, cluster, column and what is written there, for each cell that is not empty."""
    reader = csv.reader(text.splitlines(), strict=True, skipinitialspace=True)
    try:
        head = [name.strip() for name in next(reader, [])]
        if head[:1] != [CLUSTER] or head[1:] == [] or len({*head, ""}) != len(head) + 1:
            raise UsageError(
                f"{path}:1: the head must be {CLUSTER}, and then a name for each column of numbers"
            )
        for row in reader:
            at = f"{path}:{reader.line_num}"
            if any(cell.strip() for cell in row):
                yield from _row_cells(at, head, [cell.strip() for cell in row])
    except csv.Error:
        wrong = "a quote is not closed or stands within a cell, or a cell is too long"
        raise UsageError(f"{path}:{reader.line_num}: {wrong}") from None


def _row_cells(at: str, head: list[str], row: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the cells of one row."""
    if len(row) > len(head) or not row[0]:
        raise UsageError(f"{at}: a row must have a cluster, and at most {len(head) - 1} numbers")
    for column, written in zip(head[1:], row[1:], strict=False):
        if written:
            yield at, row[0], column, written


def _yaml_cells(path: str, data: bytes) -> Iterator[tuple[str, str, str, str]]:
    """Yield the same for `CLUSTER: {COLUMN: NUMBER}`."""
    found = read(data, path)
    if found.faults:
        fault = found.faults[0].fault
        raise UsageError(f"{path}:{fault.line}: {fault.message}")
    if len(found.documents) != 1:
        raise UsageError(f"{path} must be one mapping of clusters to their numbers")
    (document,) = found.documents
    for cluster, numbers in document.body.items():
        if not isinstance(numbers, Mapping):
            raise UsageError(
                f"{path}: {shown(cluster)} must have its numbers by name, such as {{price: 1.5}}"
            )
        for column, number in numbers.items():
            plain = isinstance(number, int | float | str) and not isinstance(number, bool)
            yield path, cluster, str(column), str(number) if plain else repr(number)
