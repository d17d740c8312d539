"""A table on disk that several threads of one process use."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reconciler.shell.reading.tables import OptionalTable

EACH = 40


def test_threads_take_turns_at_a_table(tmp_path: Path) -> None:
    """Whoever opened it: workers take what they do to any of their threads."""
    table = OptionalTable(tmp_path / "cache", "texts", most_bytes=1 << 20)
    table.open()

    def use(number: int) -> dict[bytes, str]:
        keys = [b"%d %d" % (number, one) for one in range(EACH)]
        for key in keys:
            table.write([(key, key.decode())])
        return table.read(keys)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(use, range(8)))

    assert "" == table.problem
    assert [EACH] * 8 == [len(one) for one in found]


def test_what_one_thread_opened_another_one_lets_go_of(tmp_path: Path) -> None:
    """A table that is damaged goes, in whichever thread that is seen."""
    table = OptionalTable(tmp_path / "cache", "texts", most_bytes=1 << 20)
    table.open()
    table.write([(b"key", "text")])
    place = tmp_path / "cache/texts"
    place.write_bytes(b"no table" * 1000)
    with ThreadPoolExecutor(1) as threads:
        assert {} == threads.submit(table.read, [b"key"]).result()

    assert not table.is_open
    assert "" != table.problem
