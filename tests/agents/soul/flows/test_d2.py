"""The D2 subset: what is accepted, and what is refused and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.soul.flows.d2 import draw_d2, parse_d2
from sould.agents.soul.flows.graph import Flow, FlowError
from sould.agents.soul.flows.mermaid import parse_mermaid, to_mermaid
from soultest.sampleflows import UNHURRIED, misplaced, shape, written_as_d2

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
        ("BEGIN ~> a", "1:8: '> a' is not expected here"),
        ("BEGIN -> a -> END\na -> b.style", "2:8: an edge to `style` is not part of flows"),
        ("BEGIN -> g -> END\ng: {a -> b}", "1:12: g is a container, not a step"),
        ("BEGIN -> a -> END\n*.shape: diamond", "2:1: `*` is not part of flows"),
        ("BEGIN -> a -> END\na -> *", "2:6: `*` is not part of flows"),
        ("BEGIN -> a -> END\n(a -> END)[0].label: x", "2:1: `(…)[…]` with anything but looks"),
        ("BEGIN -> a -> END\n(a -> END)[0]: x", "2:1: `(…)[…]` with anything but looks"),
        ("BEGIN -> a -> END: x {b}", "1:23: `b` in an edge is not part of flows"),
        ("BEGIN -> a -> END\na: [b; c]", "2:4: a list is not part of flows"),
        ("BEGIN -> a -> END\na: @other", "2:4: an import is not part of flows"),
        ("BEGIN -> a -> END\n...@other", "2:1: '...@other' is not expected here"),
        ("BEGIN -> a -> END\na: null", "2:4: `null` is not part of flows"),
        ("BEGIN -> a -> END\n_.a: x", "2:1: there is no container above this one"),
        ("(BEGIN -> a", "1:1: this `(` is not closed"),
        (f"BEGIN -> a -> END\n{'a: {' * 30}", "2:84: blocks nest at most 20 levels deep"),
        ("BEGIN -> a -> END\na: {shape: blob}", "2:12: there is no shape 'blob'"),
        ("BEGIN -> a -> END\na: |md\nx", "2:4: this block is not closed"),
        ("BEGIN -> a -> END\na: {shape: circle", "2:4: this `{` is not closed"),
        ('BEGIN -> "a\n', "1:10: this quoted text is not closed"),
        ("BEGIN -> a -> END\na: x\na: y", "3:4: a is already defined as 'x'"),
        ("BEGIN ->", "1:9: the line ends too early"),
        ('BEGIN -> "" -> END', "1:10: a node needs a name"),
        ('BEGIN -> a -> END\na: ""', "1:10: a has no label"),
    ],
)
def test_a_mistake_is_named_with_line_and_column(text: str, problem: str) -> None:
    with pytest.raises(FlowError) as caught:
        parse_d2(text)
    assert str(caught.value.problems[0]).startswith(problem)


@pytest.mark.parametrize(
    ("written", "edges"),
    [
        *(
            ("a -> b", "ab"),
            ("a --> b", "ab"),
            ("a ---> b", "ab"),
            ("b <- a", "ab"),
            ("b <-- a", "ab"),
            ("a <-> b", "ab ba"),
        ),
        *(("a -- b", "ab"), ("c <- b <- a", "bc ab"), ("(a -> b)", "ab")),
    ],
)
def test_every_arrow_is_an_edge(written: str, edges: str) -> None:
    drawing = draw_d2(written)
    assert sorted(f"{edge.source}{edge.target}" for edge in drawing.edges) == sorted(edges.split())
    assert list(map(str, drawing.warnings)) == (
        ["1:3: `--` has no arrowhead and is read as `->`"] if written == "a -- b" else []
    )


DECORATED = """\
direction: right
vars: {
  d2-config: {theme-id: 4}
}
classes: {
  red: {style.fill: red}
}
*.style.font-size: 20
BEGIN -> ci.test
ci: Where it runs {
  grid-columns: 2
  test: Run the tests {
    class: red
    icon: https://icons.terrastruct.com/x.svg
    style: {
      fill: "#f9f"
      stroke-width: 4
    }
  }
  test -> sure {style.animated: true}
  sure.shape: diamond
  sure: "Did they pass?" {tooltip: "or not"}
  inner.fix: Mend it; inner.fix -> test: {
    target-arrowhead: {shape: diamond}
  }
  sure -> inner.fix: no {style.stroke: red}
  inner: {
    fix.near: top-center
    fix <- _._.note: see {label: look}
  }
}
ci.sure -> END: yes
(ci.sure -> END)[0].style.stroke: green
(* -> *)[*]: {style.opacity: 0.5}
note -> ci.test: what (is) this? # what it says
steps: {
  1: {a -> b}
}
"""


def test_what_says_how_a_drawing_looks_is_passed_over_with_line_and_construct() -> None:
    drawing = draw_d2(DECORATED)
    assert {name: (node.label, node.decides) for name, node in drawing.nodes.items()} == {
        "BEGIN": ("BEGIN", False),
        "ci.test": ("Run the tests", False),
        "ci.sure": ("Did they pass?", True),
        "ci.inner.fix": ("Mend it", False),
        "note": ("note", False),
        "END": ("END", False),
    }
    assert [(edge.source, edge.target, edge.label) for edge in drawing.edges] == [
        *(("BEGIN", "ci.test", ""), ("ci.test", "ci.sure", ""), ("ci.inner.fix", "ci.test", "")),
        *(("ci.sure", "ci.inner.fix", "no"), ("note", "ci.inner.fix", "look"), ("ci.sure", "END", "yes")),
        ("note", "ci.test", "what (is) this?"),
    ]
    assert sorted((warning.place.line, warning.message.split("`")[1]) for warning in drawing.warnings) == [
        *((1, "direction"), (2, "vars"), (5, "classes"), (8, "*"), (9, "ci"), (11, "grid-columns"), (13, "class")),
        *((14, "icon"), (15, "style"), (20, "style"), (22, "tooltip"), (23, "ci.inner"), (24, "target-arrowhead")),
        *((26, "style"), (28, "near"), (33, "(…).style"), (34, "(…).style"), (36, "steps")),
    ]


def test_a_flow_in_containers_survives_its_normal_form_in_mermaid() -> None:
    flow = parse_d2("BEGIN -> ci.test -> END\nci: {test: Run the tests}")
    again = parse_mermaid(to_mermaid(flow))
    assert again.nodes["ci.test"].label == "Run the tests"


def test_a_d2_flow_survives_its_normal_form_in_mermaid() -> None:
    flow = parse_d2(WHOLE)
    again = parse_mermaid(to_mermaid(flow))
    assert [(node.id, node.kind, node.label) for node in again.nodes.values()] == [
        (node.id, node.kind, node.label) for node in flow.nodes.values()
    ]


@pytest.mark.long
@UNHURRIED
@given(written_as_d2())
def test_what_is_written_in_any_way_means_the_same_flow_and_all_that_does_not_count_is_said(
    sample: tuple[Flow, str, int],
) -> None:
    flow, text, looks = sample
    found = parse_d2(text)
    assert shape(found) == shape(flow)
    assert len(found.warnings) == looks


PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "a",
                "b",
                "BEGIN",
                "END",
                " ",
                "\n",
                ";",
                ".",
                ":",
                "#",
                '"',
                "'",
                "|",
                "|md ",
                "\\",
                "\\\n",
                "{",
                "}",
                "(",
                ")",
            ),
            *(
                "->",
                "<-",
                "<->",
                "--",
                "-->",
                "[0]",
                "[",
                "]",
                "_",
                "*",
                "&",
                "@",
                "$",
                "${x}",
                "...",
                '"""',
                "null",
                "`",
            ),
            *(
                "style",
                "shape: diamond",
                "label",
                "class",
                "classes",
                "vars",
                "direction: up",
                "layers",
                "a.b",
                "\u00a0",
            ),
        ]
    ),
    max_size=40,
).map("".join)


@UNHURRIED
@given(st.one_of(st.text(max_size=200), PIECES))
def test_any_text_is_a_flow_or_an_error_with_a_place_in_it(text: str) -> None:
    assert misplaced(parse_d2, text) == []


@UNHURRIED
@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).map(str.strip).filter(
    lambda label: bool(label) and label.casefold() not in ("begin", "end")), min_size=1, max_size=5, unique=True))  # fmt: skip
def test_quoted_names_of_any_text_survive_as_labels(labels: list[str]) -> None:
    quoted = ['"' + label.replace("\\", "\\\\").replace('"', '\\"') + '"' for label in labels]
    flow = parse_d2(f"BEGIN -> {' -> '.join(quoted)} -> END")
    assert [step.label for step in flow.steps()] == labels
    again = parse_mermaid(to_mermaid(flow))
    assert [step.label for step in again.steps()] == labels
