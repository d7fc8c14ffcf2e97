"""The Mermaid subset: what is accepted, what is refused and where, and the normal form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.flows.graph import Flow, FlowError, Node
from sould.agents.flows.mermaid import parse_mermaid, to_mermaid
from soultest.sampleflows import flows, misplaced, shape

SMALL = "flowchart TD\n  BEGIN([BEGIN]) --> a[Do it]\n  a --> END([END])\n"


def problems(text: str) -> list[str]:
    with pytest.raises(FlowError) as caught:
        parse_mermaid(text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("head", ["flowchart TD", "graph LR", "flowchart", "%% note\nflowchart BT", "graph RL;"])
def test_heads(head: str) -> None:
    assert parse_mermaid(SMALL.replace("flowchart TD", head)).steps()[0].label == "Do it"


@pytest.mark.parametrize("written", ["a[x]", "a(x)", "a([x])", "a[[x]]", 'a["x"]', 'a( "x" )', "a[ x ]"])
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
        ("flowchart TD\nBEGIN ==> END", "2:7: '==> END' is not understood here"),
        ("flowchart TD\nBEGIN -.-> END", "2:7: "),
        ("flowchart TD\nsubgraph x\nend", "2:1: `subgraph` is not part of flows"),
        ("flowchart TD\nBEGIN --> a[x", "2:12: this label is not closed by `]`"),
        ('flowchart TD\nBEGIN --> a["x]', "2:12: this quoted label is not closed"),
        ("flowchart TD\nBEGIN --> a[f(x)]", "2:12: a label with ( must be in quotes"),
        ("flowchart TD\nBEGIN -- x END", "2:7: this edge has no `-->`"),
        ("flowchart TD\nBEGIN -->", "2:10: the line ends too early"),
        ("flowchart TD\nBEGIN --> a[x] --> END\na[y]", "3:1: a already stands for 'x'"),
        ("flowchart TD\nBEGIN --> a b", "2:13: 'b' is not understood here"),
        ("flowchart TD\nBEGIN --> a:::red", "2:12: "),
        ("flowchart TD\nBEGIN --> a[/x/] --> END", "2:12: a slanted box is not part of flows"),
        ("flowchart TD\nBEGIN --> a[] --> END", "2:11: a says nothing"),
    ],
)
def test_a_mistake_is_named_with_line_and_column(text: str, problem: str) -> None:
    assert problems(text)[0].startswith(problem)


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
        ("BEGIN --> q{?}\nq -->|y| END\nq -->|n| a --> b --> a", "4:10: there is no way from a to END"),
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


@given(flows())
def test_the_normal_form_means_the_same_flow(flow: Flow) -> None:
    written = to_mermaid(flow)
    again = parse_mermaid(written)
    assert shape(again) == shape(flow)
    assert to_mermaid(again) == written


@given(st.one_of(st.text(max_size=200), st.text(st.sampled_from('ab{}[]()|-> "\n;&%#BEGIN'), max_size=80)))
def test_any_text_is_a_flow_or_an_error_with_a_place_in_it(body: str) -> None:
    text = "flowchart TD\n" + body
    assert misplaced(parse_mermaid, text) == []


@given(flows(), st.data())
def test_a_sound_flow_with_a_piece_cut_out_is_a_flow_or_an_error_with_a_place_in_it(
    flow: Flow, data: st.DataObject
) -> None:
    whole = to_mermaid(flow)
    begin = data.draw(st.integers(0, len(whole)))
    text = whole[:begin] + whole[data.draw(st.integers(begin, len(whole))) :]
    assert misplaced(parse_mermaid, text) == []
