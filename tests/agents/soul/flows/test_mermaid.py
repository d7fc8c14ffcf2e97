"""The Mermaid subset: what is accepted, what is refused and where, and the normal form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.soul.flows.graph import Flow, FlowError, Node
from sould.agents.soul.flows.mermaid import draw_mermaid, parse_mermaid, to_mermaid
from soultest.sampleflows import UNHURRIED, flows, misplaced, shape, written_as_mermaid

SMALL = "flowchart TD\n  BEGIN([BEGIN]) --> a[Do it]\n  a --> END([END])\n"


def problems(text: str) -> list[str]:
    with pytest.raises(FlowError) as caught:
        parse_mermaid(text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    "head", ["flowchart TD", "graph LR", "flowchart", "%% note\nflowchart BT", "graph RL;", "flowchart-elk TD"]
)
def test_heads(head: str) -> None:
    assert parse_mermaid(SMALL.replace("flowchart TD", head)).steps()[0].label == "Do it"


@pytest.mark.parametrize(
    "written",
    [
        *("a[x]", "a(x)", "a([x])", "a[[x]]", 'a["x"]', 'a( "x" )', "a[ x ]", "a[\nx\n]", 'a["`x`"]'),
        *("a((x))", "a(((x)))", "a{{x}}", "a[(x)]", "a[/x/]", "a[\\x\\]", "a[/x\\]", 'a[\\"x"/]', "a>x]", "a(-x-)"),
        *('a@{ shape: doc, label: "x" }', "a@{label: x}", "a@{\n  shape: doc\n  label: x\n}"),
    ],
)
def test_shapes_of_a_task(written: str) -> None:
    flow = parse_mermaid(f"flowchart TD\nBEGIN --> {written} --> END")
    assert flow.nodes["a"] == Node("a", "task", "x", flow.nodes["a"].place)


def test_a_diamond_is_a_decision_and_so_is_a_box_with_several_edges() -> None:
    flow = parse_mermaid("flowchart TD\nBEGIN --> a{Sure?}\na -->|yes| b\na -- no --> END\nb -->|x| END\nb -->|y| a")
    assert (flow.nodes["a"].kind, flow.nodes["b"].kind) == ("decision", "decision")
    assert [edge.label for edge in flow.out("a")] == ["yes", "no"]


def test_labels_in_any_script_of_several_lines_and_with_entities() -> None:
    flow = parse_mermaid('flowchart TD\nBEGIN --> a["检查 #quot;代码#quot;\n  第二行<br/>third"]\na --> END')
    assert flow.nodes["a"].label == '检查 "代码"\n第二行\nthird'


def test_chains_and_ampersands() -> None:
    chained = parse_mermaid("flowchart TD\nBEGIN --> q{?}; q -->|1| a; q -->|2| b; a & b --> c --> END %% done")
    assert [(edge.source, edge.target) for edge in chained.edges][-3:] == [("a", "c"), ("b", "c"), ("c", "END")]


def test_a_node_may_be_declared_after_it_was_used() -> None:
    flow = parse_mermaid("flowchart TD\nB --> a --> E\na[Work]\nB([begin])\nE([end])")
    assert (flow.nodes["a"].label, flow.nodes["B"].kind, flow.nodes["E"].kind) == ("Work", "begin", "end")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("BEGIN --> END", "1:1: a flow begins with"),
        ("flowchart TD\nBEGIN => END", "2:7: '=> END' is not expected here"),
        ("flowchart TD\nBEGIN --> a\nsubgraph x\na --> END", "3:1: this `subgraph` is not closed by `end`"),
        ("flowchart TD\nsubgraph x [X]\na --> END\nend\nBEGIN --> x", "5:11: x is a subgraph, not a step"),
        ("flowchart TD\nsubgraph x\nBEGIN --> a --> END\nend\nend --> a", "5:1: end is a second END"),
        ("flowchart TD\nBEGIN --> a@{ shape: doc", "2:12: this `@{` is not closed"),
        ("flowchart TD\nBEGIN == x END", "2:7: this edge has no `==>`"),
        ('flowchart TD\nBEGIN -. "x" END', "2:14: `.->` is missing behind the label"),
        ("flowchart TD\nBEGIN --> a[x", "2:12: this label is not closed by `]`"),
        ('flowchart TD\nBEGIN --> a["x]', "2:12: this quoted label is not closed"),
        ("flowchart TD\nBEGIN --> a[f(x)]", "2:12: a label with ( must be in quotes"),
        ("flowchart TD\nBEGIN -- x END", "2:7: this edge has no `-->`"),
        ("flowchart TD\nBEGIN -->", "2:10: the line ends too early"),
        ("flowchart TD\nBEGIN --> a[x] --> END\na[y]", "3:1: a is already defined as 'x'"),
        ("flowchart TD\nBEGIN --> a b", "2:13: 'b' is not expected here"),
        ("flowchart TD\nBEGIN --> a[/api/users] --> END", "2:12: this box is not closed by `/]`"),
        ("flowchart TD\nBEGIN --> a[] --> END", "2:11: a has no label"),
    ],
)
def test_a_mistake_is_named_with_line_and_column(text: str, problem: str) -> None:
    assert problems(text)[0].startswith(problem)


@pytest.mark.parametrize(
    "written",
    [
        *("-->", "---->", "-.->", "-..->", "==>", "===>", "<-->"),
        *("-->|x|", "-- x -->", "--yes-->", "==yes==>", "-.yes.->", "-. x .->", '-- "x" --->', "==>|x|", '-.->|"x"|'),
    ],
)
def test_every_arrow_is_an_edge(written: str) -> None:
    drawing = draw_mermaid(f"flowchart TD\na{written}b\nc {written} d")
    forward = [(edge.source, edge.target) for edge in drawing.edges if edge.source < edge.target]
    assert forward == [("a", "b"), ("c", "d")]
    assert {edge.label[:1] for edge in drawing.edges} == {written.strip('-=.>| "<')[:1]}
    assert len(drawing.edges) == (4 if written.startswith("<") else 2)
    assert drawing.warnings == []


@pytest.mark.parametrize("written", ["---", "--o", "--x", "-.-", "===", "o--o", "x--x"])
def test_a_line_without_an_arrowhead_is_taken_as_an_edge_with_a_warning(written: str) -> None:
    drawing = draw_mermaid(f"flowchart TD\na {written} b")
    assert [(edge.source, edge.target) for edge in drawing.edges] == [("a", "b")]
    assert list(map(str, drawing.warnings)) == [f"2:3: `{written}` has no arrowhead and is read as `-->`"]


DECORATED = """\
---
title: How we release
config:
  theme: forest
---
%%{init: {
  'theme': 'dark'
}}%%
flowchart TB
    accTitle: Release
    accDescr { as we do
      it }
    BEGIN([BEGIN]):::green ~~~ note
    BEGIN ==> test[Run the tests]:::red
    subgraph ci ["Where it runs; all of it"]
        direction LR
        test -.-> sure@{ shape: diam, label: "Did they pass?", w: 100px }
        subgraph "inner"
            note((Note)) & sure e1@--->|no| fix{{Mend it}}
        end
    end
    sure -- yes --> END
    fix --> test
    e1@{ animate: true }
    style test fill:#f9f,stroke:#333,stroke-width:4px
    classDef green fill:#9f6,stroke:#333;
    class test,fix green;
    linkStyle 0 stroke:#ff3,color:red;
    click test "https://example.com/a;b" "Open" _blank
    click fix call mend("x")
"""


def test_what_says_how_a_drawing_looks_is_passed_over_with_line_and_construct() -> None:
    drawing = draw_mermaid(DECORATED)
    assert {name: (node.label, node.decides) for name, node in drawing.nodes.items()} == {
        "BEGIN": ("BEGIN", False),
        "note": ("Note", False),
        "test": ("Run the tests", False),
        "sure": ("Did they pass?", True),
        "fix": ("Mend it", False),
        "END": ("END", False),
    }
    assert [(edge.source, edge.target, edge.label) for edge in drawing.edges] == [
        *(("BEGIN", "test", ""), ("test", "sure", ""), ("note", "fix", "no"), ("sure", "fix", "no")),
        *(("sure", "END", "yes"), ("fix", "test", "")),
    ]
    assert [
        (warning.place.line, warning.message.split("`")[1::2] or warning.message) for warning in drawing.warnings
    ] == [
        (1, "the title block is ignored"),
        *(
            (6, ["%%{…}%%"]),
            (10, ["accTitle"]),
            (11, ["accDescr"]),
            (13, [":::green"]),
            (13, ["~~~"]),
            (14, [":::red"]),
        ),
        *((15, ["subgraph"]), (16, ["direction"]), (17, ["w", "@{…}"]), (18, ["subgraph"]), (24, ["animate", "@{…}"])),
        *((25, ["style"]), (26, ["classDef"]), (27, ["class"]), (28, ["linkStyle"]), (29, ["click"]), (30, ["click"])),
    ]


def test_a_quote_in_what_is_passed_over_hides_no_line() -> None:
    drawing = draw_mermaid('flowchart TD\nstyle a fill:"x\na --> b\nclick a "y\nb --> c')
    assert len(drawing.edges) == 2


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("a --> END", "1:1: there is no BEGIN node"),
        ("BEGIN --> a", "1:1: there is no END node"),
        ("BEGIN --> a --> END\nx[begin] --> a", "3:1: x is a second BEGIN"),
        ("BEGIN --> a --> END\na2[END]", "3:1: a2 is a second END"),
        ("BEGIN --> q{?}\nq -->|y| END\nq --> END", "4:3: this edge of the decision q has no label"),
        ("BEGIN --> q{?}\nq -->|y| END\nq -->|y| END", "4:3: the decision q has two edges labelled 'y'"),
        ("BEGIN --> q{?} --> END", "2:11: the decision q needs at least two edges, it has 1"),
        ("BEGIN --> a --> END\nb --> END", "3:1: b cannot be reached from BEGIN"),
        ("BEGIN --> q{?}\nq -->|y| END\nq -->|n| a --> b --> a", "4:10: no path leads from a to END"),
        ("BEGIN --> a --> END --> a", "2:21: nothing may follow END"),
        ("BEGIN --> a --> END\nBEGIN --> END", "2:1: exactly one edge must leave BEGIN, not 2"),
        ("BEGIN --> q{?}\nq -->|y| END\nq -->|n| BEGIN", "4:3: no edge may lead back to BEGIN"),
        ("BEGIN --> a\nBEGIN2[x] --> END", "2:11: no edge leaves a"),
    ],
)
def test_an_unsound_flow_is_refused_with_the_place(body: str, problem: str) -> None:
    assert any(found.startswith(problem) for found in problems(f"flowchart TD\n{body}"))


def test_every_problem_is_told_at_once() -> None:
    assert len(problems("flowchart TD\nBEGIN --> q{?}\nq --> END\nq -->|y| END\nx[end]")) == 2


@UNHURRIED
@given(flows())
def test_the_normal_form_means_the_same_flow(flow: Flow) -> None:
    written = to_mermaid(flow)
    again = parse_mermaid(written)
    assert shape(again) == shape(flow)
    assert to_mermaid(again) == written


@UNHURRIED
@given(written_as_mermaid())
def test_what_is_written_in_any_way_means_the_same_flow_and_all_that_does_not_count_is_said(
    sample: tuple[Flow, str, int],
) -> None:
    flow, text, looks = sample
    found = parse_mermaid(text)
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
                "end",
                " ",
                "\n",
                "    ",
                ";",
                "&",
                "|",
                '"',
                "-",
                "=",
                ".",
                ":",
                "#",
                "%%",
                "%%{",
                "}%%",
            ),
            *(
                "-->",
                "-.->",
                "==>",
                "--->",
                "---",
                "~~~",
                "--",
                "==",
                "-.",
                "x--x",
                "<-->",
                "--o",
                "e1@",
                "-->|",
                "|yes|",
            ),
            *(
                "[",
                "]",
                "(",
                ")",
                "{",
                "}",
                "((",
                "))",
                "{{",
                "}}",
                "[/",
                "/]",
                "[\\",
                "\\]",
                "([",
                "])",
                ">",
                "(-",
                "-)",
            ),
            *(
                "subgraph ",
                "subgraph",
                "style ",
                "classDef ",
                "class ",
                "click ",
                "direction LR",
                "linkStyle ",
                ":::",
                "@{",
            ),
            *(
                "accTitle: ",
                "accDescr {",
                "---\ntitle: x\n---\n",
                "flowchart TD\n",
                "shape: diam",
                "<br/>",
                "&amp;",
                "\u00a0",
            ),
        ]
    ),
    max_size=40,
).map("".join)


@UNHURRIED
@given(st.one_of(st.text(max_size=200), PIECES))
def test_any_text_is_a_flow_or_an_error_with_a_place_in_it(body: str) -> None:
    text = "flowchart TD\n" + body
    assert misplaced(parse_mermaid, text) == []


@UNHURRIED
@given(flows(), st.data())
def test_a_sound_flow_with_a_piece_cut_out_is_a_flow_or_an_error_with_a_place_in_it(
    flow: Flow, data: st.DataObject
) -> None:
    whole = to_mermaid(flow)
    begin = data.draw(st.integers(0, len(whole)))
    text = whole[:begin] + whole[data.draw(st.integers(begin, len(whole))) :]
    assert misplaced(parse_mermaid, text) == []
