"""Output of any size and shape stays within what a model can read, and what was cut is said and kept in a file."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.toolapi.result import LIMIT, LINE_LIMIT, LINE_MARK, ToolResultBuilder
from soultest.luck import examples

pieces = st.lists(
    st.one_of(
        st.text(max_size=50),
        st.tuples(st.sampled_from(["a", "\n", "b\n", "é", "xy\n\n"]), st.integers(0, 3000)).map(lambda p: p[0] * p[1]),
    ),
    max_size=12,
)


@settings(max_examples=examples(300), deadline=None)
@given(pieces, st.integers(400, 2500), st.integers(100, 500))
def test_the_bounds_hold_for_any_input(written: list[str], limit: int, line_limit: int) -> None:
    builder = ToolResultBuilder(limit=limit, line_limit=line_limit)
    for piece in written:
        builder.write(piece)
    text, cut = builder.finish()
    whole = "".join(written)
    assert len(text) <= limit
    assert all(len(line) <= line_limit for line in text.split("\n"))
    assert builder.characters == len(whole)
    assert (text == whole) == (cut == "")
    if len(whole) <= limit and all(len(line) <= line_limit for line in whole.split("\n")):
        assert text == whole


@settings(max_examples=examples(100), deadline=None)
@given(pieces)
def test_how_the_output_is_split_into_pieces_makes_no_difference(written: list[str]) -> None:
    whole, parts = (ToolResultBuilder(limit=1000, line_limit=100) for _ in range(2))
    whole.write("".join(written))
    for piece in written:
        parts.write(piece)
    assert whole.finish() == parts.finish()


def test_head_and_tail_are_kept_and_the_middle_is_counted() -> None:
    builder = ToolResultBuilder()
    for number in range(100_000):
        builder.write(f"line {number}\n")
    result = builder.ok("Done.")
    assert isinstance(result.output, str)
    assert result.output.startswith("line 0\nline 1\n")
    assert result.output.endswith("line 99998\nline 99999\n")
    assert "of 1088890 characters left out here" in result.output
    assert result.message == "Done. Only the first and last part of 1088890 characters of output are shown."
    assert len(result.output) <= LIMIT


def test_a_long_line_is_cut_and_marked() -> None:
    builder = ToolResultBuilder()
    builder.write("short\n" + "x" * 5000)
    builder.write("x" * 5000 + "\nlast")
    text, cut = builder.finish()
    first, long, last = text.split("\n")
    assert (first, last, len(long)) == ("short", "last", LINE_LIMIT)
    assert long.endswith(LINE_MARK)
    assert cut == "Lines longer than 2000 characters were cut."


def test_the_whole_output_goes_to_the_file_only_when_something_is_cut(tmp_path: Path) -> None:
    small = ToolResultBuilder(spill=tmp_path / "small")
    small.write("few words")
    assert small.ok().message == ""
    assert not (tmp_path / "small").exists()

    written = [f"line {number}\n" * 3 for number in range(10_000)]
    large = ToolResultBuilder(spill=tmp_path / "large")
    for piece in written:
        large.write(piece)
    assert large.error("Failed.").message.endswith(f"The whole output is in {tmp_path / 'large'}.")
    assert (tmp_path / "large").read_text() == "".join(written)
    assert (tmp_path / "large").stat().st_mode & 0o777 == 0o600


def test_a_place_where_no_file_can_be_made_costs_the_file_and_not_the_call(tmp_path: Path) -> None:
    builder = ToolResultBuilder(spill=tmp_path / "missing" / "spill")
    builder.write("y\n" * 60_000)
    assert builder.ok().message.endswith("The rest could not be kept.")


def test_a_flood_is_bounded_in_memory_and_file(tmp_path: Path) -> None:
    """100 MB without a line end, then a storm of short lines."""
    builder = ToolResultBuilder(spill=tmp_path / "spill")
    block = "A" * 1_000_000
    for _ in range(100):
        builder.write(block)
    for _ in range(20):
        builder.write("\n" + "y\n" * 500_000)
    result = builder.ok()
    assert isinstance(result.output, str)
    assert len(result.output) <= LIMIT
    assert (tmp_path / "spill").stat().st_size == 64 * 1024 * 1024
    assert result.message.endswith(f"Its first 64 MiB are in {tmp_path / 'spill'}.")
