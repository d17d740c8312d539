"""A table of numbers of clusters, as people write it."""

from fractions import Fraction

import pytest

from reconciler.cli.scores import read_table
from reconciler.errors import UsageError

PRICES = {"price": {"a": Fraction(3, 2), "b": Fraction(-2)}, "carbon": {"a": Fraction(300)}}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("t.csv", "cluster,price,carbon\na,1.5,300\nb,-2,\n", id="csv"),
        pytest.param(
            "t.csv", '\ufeffcluster, price, carbon\r\n"a", 1.50, 300\r\n\r\nb,-2\r\n', id="office"
        ),
        pytest.param("t.yaml", "a: {price: 1.5, carbon: 300}\nb: {price: -2}\n", id="yaml"),
        pytest.param("t", '{"a": {"price": 1.5, "carbon": 300}, "b": {"price": -2}}', id="json"),
    ],
)
def test_numbers_are_read_as_they_stand(path: str, text: str) -> None:
    """Exactly, with gaps."""
    assert PRICES == read_table(path, text.encode())


@pytest.mark.parametrize(
    ("path", "data", "said"),
    [
        pytest.param("t.csv", b"", "t.csv:1: the head must be cluster, and then", id="empty"),
        pytest.param("t.csv", b"name,price\na,1\n", "t.csv:1: the head must be cluster", id="head"),
        pytest.param("t.csv", b"cluster,p,p\n", "t.csv:1: the head must be cluster", id="twice"),
        pytest.param("t.csv", b"cluster\na\n", "t.csv:1: the head must be cluster", id="no-column"),
        pytest.param(
            "t.csv", b"cluster,p\na,1e9\n", 't.csv:2: "1e9" in "p" must be a plain', id="exponent"
        ),
        pytest.param("t.csv", b"cluster,p\na,nan\n", 't.csv:2: "nan" in "p" must be', id="nan"),
        pytest.param(
            "t.csv", b"cluster,p\na,1\na,2\n", 't.csv:3: "a" has a number in "p"', id="again"
        ),
        pytest.param("t.csv", b"cluster,p\na,1,2\n", "t.csv:2: a row must have", id="long-row"),
        pytest.param("t.csv", b"cluster,p\n,1\n", "t.csv:2: a row must have", id="no-cluster"),
        pytest.param("t.csv", b'cluster,p\n"a,1\n', "t.csv:", id="quote"),
        pytest.param("t.csv", b"cluster,p\n", "t.csv holds no number", id="no-row"),
        pytest.param("t.csv", b"cluster,p\n\xff,1\n", "t.csv must be UTF-8", id="bytes"),
        pytest.param("t.yaml", b"a: 1\n", 't.yaml: "a" must have its numbers by name', id="flat"),
        pytest.param("t.yaml", b"a: {p: true}\n", "must be a plain number", id="boolean"),
        pytest.param("t.yaml", b"a: {p: [1]}\n", "must be a plain number", id="list"),
        pytest.param("t.yaml", b"a: {\n", "t.yaml:", id="broken"),
        pytest.param("t.yaml", b"- a\n", "t.yaml", id="no-mapping"),
        pytest.param("t.yaml", b"", "t.yaml must be one mapping", id="empty-yaml"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(path: str, data: bytes, said: str) -> None:
    """With its place."""
    with pytest.raises(UsageError) as refused:
        read_table(path, data)

    told = str(refused.value)
    assert said in told
    assert "\n" not in told
