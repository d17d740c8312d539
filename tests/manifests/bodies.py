"""Bodies that may be written, with all the text that readers of YAML stumble over."""

from hypothesis import strategies as st

NASTY = [
    *("", " ", "a ", " a", "~", "null", "Null", "none", "true", "FALSE", "yes", "No", "on", "OFF"),
    *("y", "N", "0", "007", "0755", "0o17", "0x1F", "0b101", "1_000", "_9", "1e3", "123e4567"),
    *("1.5", ".5", "5.", ".inf", "-.INF", ".nan", "12:30:45", "1:30", "2026-01-02"),
    *("2026-01-02T03:04:05Z", "=", "<<", "a: b", "a #b", "a:", ":a", "#a", "- a", "-", "?", "? a"),
    *("[a]", "{a}", "a, b", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "'a'", '"a"', "a'b"),
    *("a\nb", "a\r\nb", "\t", "a\tb", "\x00", "\x07", "\x1b[0m", "\x7f", "\x85", "\xa0", "\u2028"),
    *("\ufeff", "\ufffe", "é", "😀", "---", "...", "--- a", "a" * 500, "b c " * 200, "//x"),
    *("a: ", "a'", "\\", "nginx:1.19"),
    *( "Binding has been scheduled.", "/spec/replicas", "It isn't #1", "a  b"),
]  # fmt: skip

TEXTS = st.text(max_size=12) | st.sampled_from(NASTY) | st.text("ab: #-'\"[]{}\n0_y", max_size=8)
WRITABLE = TEXTS.filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text))
SCALARS = (
    WRITABLE
    | st.none()
    | st.booleans()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
)
BODIES = st.dictionaries(
    WRITABLE,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WRITABLE, inner, max_size=4),
        max_leaves=12,
    ),
    max_size=5,
)
