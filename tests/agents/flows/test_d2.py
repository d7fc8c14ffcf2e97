"""The D2 subset: what is accepted, and what is refused and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.flows.d2 import parse_d2
from sould.agents.flows.graph import Flow, FlowError
from sould.agents.flows.mermaid import parse_mermaid, to_mermaid
from soultest.sampleflows import misplaced, shape, written_as_d2

WHOLE = """
# a comment
BEGIN -> look -> sure
look: |md
  Read the code.

  Then say what it does.
|
sure: "Is it clear?" { shape: diamond }
sure -> END: yes  # done
sure -> look: no
"""


def test_blocks_quotes_shapes_chains_and_comments() -> None:
    flow = parse_d2(WHOLE)
    assert flow.nodes["look"].label == "Read the code.\n\nThen say what it does."
    assert (flow.nodes["sure"].kind, flow.nodes["sure"].label) == ("decision", "Is it clear?")
    assert [(edge.target, edge.label) for edge in flow.out("sure")] == [("END", "yes"), ("look", "no")]


def test_a_comment_may_be_a_block() -> None:
    assert len(parse_d2('"""\na -> b\n"""\nBEGIN -> a -> END').edges) == 2


def test_a_label_of_a_chain_is_every_edges() -> None:
    assert [edge.label for edge in parse_d2("BEGIN -> a -> END: go").edges] == ["go", "go"]


@pytest.mark.parametrize(
    "written",
    ['a: x', 'a: "x"', "a: 'x'", "a: {label: x}", "a: x {shape: circle}", "a.shape: oval; a: x", "a: | x |", "a: ||md x ||"],
)  # fmt: skip
def test_ways_to_write_a_label(written: str) -> None:
    assert parse_d2(f"BEGIN -> a -> END\n{written}").nodes["a"].label == "x"


def test_names_with_spaces_and_other_scripts_get_an_id_and_keep_their_label() -> None:
    flow = parse_d2('BEGIN -> 检查代码 -> run the tests -> "say: done" -> END')
    assert [step.label for step in flow.steps()] == ["检查代码", "run the tests", "say: done"]
    assert flow.steps()[0].id == "检查代码"


def test_a_shape_diamond_needs_two_edges() -> None:
    with pytest.raises(FlowError, match="1:10: the decision a needs at least two edges"):
        parse_d2("BEGIN -> a -> END\na.shape: diamond")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("BEGIN <- a", "1:7: "),
        ("BEGIN -- a", "1:7: "),
        ("BEGIN -> a.b -> END", "1:11: "),
        ("BEGIN -> a -> END\na.style: x", "2:3: only `.shape` is understood"),
        ("BEGIN -> a -> END\na: {style: x}", "2:5: only `shape: …` and `label: …`"),
        ("BEGIN -> a -> END\na: {shape: blob}", "2:12: there is no shape 'blob'"),
        ("BEGIN -> a -> END\na: |md\nx", "2:4: this block is not closed"),
        ("BEGIN -> a -> END\na: {shape: circle", "2:4: this `{` is not closed"),
        ('BEGIN -> "a\n', "1:10: this quoted text is not closed"),
        ("BEGIN -> a -> END\na: x\na: y", "3:4: a already stands for 'x'"),
        ("BEGIN ->", "1:9: the line ends too early"),
        ("direction: right\nBEGIN -> a -> END", "1:1: `direction` is not part of flows"),
        ('BEGIN -> a -> END\na: ""', "1:10: a says nothing"),
    ],
)
def test_a_mistake_is_named_with_line_and_column(text: str, problem: str) -> None:
    with pytest.raises(FlowError) as caught:
        parse_d2(text)
    assert str(caught.value.problems[0]).startswith(problem)


def test_a_d2_flow_survives_its_normal_form_in_mermaid() -> None:
    flow = parse_d2(WHOLE)
    again = parse_mermaid(to_mermaid(flow))
    assert [(node.id, node.kind, node.label) for node in again.nodes.values()] == [
        (node.id, node.kind, node.label) for node in flow.nodes.values()
    ]


@given(written_as_d2())
def test_what_is_written_in_any_way_means_the_same_flow(sample: tuple[Flow, str]) -> None:
    flow, text = sample
    assert shape(parse_d2(text)) == shape(flow)


@given(st.one_of(st.text(max_size=200), st.text(st.sampled_from("ab{}|:-> \"'\n;.#\\BEGIN"), max_size=80)))
def test_any_text_is_a_flow_or_an_error_with_a_place_in_it(text: str) -> None:
    assert misplaced(parse_d2, text) == []


@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).map(str.strip).filter(
    lambda label: bool(label) and label.casefold() not in ("begin", "end")), min_size=1, max_size=5, unique=True))  # fmt: skip
def test_quoted_names_of_any_text_survive_as_labels(labels: list[str]) -> None:
    quoted = ['"' + label.replace("\\", "\\\\").replace('"', '\\"') + '"' for label in labels]
    flow = parse_d2(f"BEGIN -> {' -> '.join(quoted)} -> END")
    assert [step.label for step in flow.steps()] == labels
    again = parse_mermaid(to_mermaid(flow))
    assert [step.label for step in again.steps()] == labels
