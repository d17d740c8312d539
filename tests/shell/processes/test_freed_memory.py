"""What a pass has freed goes back to the system."""

import ctypes
import subprocess
import sys

import pytest

HOLDS_AND_FREES = """
import ctypes
from benchmarks.own_process import resident_megabytes
from reconciler.shell.processes.limits import give_back

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
blocks = [libc.malloc(100_000) for _ in range(600)]
for block in blocks:
    ctypes.memset(block, 1, 100_000)
last = libc.malloc(100_000)
for block in blocks:
    libc.free(block)
before = resident_megabytes()
give_back()
print(before - resident_megabytes())
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library gives back by itself"
)
def test_what_lies_below_a_block_in_use_is_given_back() -> None:
    """Sixty megabytes were freed below the last one."""
    command = [sys.executable, "-c", HOLDS_AND_FREES]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert float(said) > 50
