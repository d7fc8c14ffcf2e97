"""The edits of a project by file: the same whatever happened to them, and to the project."""

from collections.abc import Sequence
from pathlib import Path

from sould.agents.files.edits.editlog import Intent, Settled
from sould.agents.files.edits.state import EditState

ROOT, ELSEWHERE = Path("/one"), Path("/two")


def intent(n: int, name: str) -> Intent:
    return Intent(
        n=n, path=str(ROOT / name), before="a", after="b", session_id="s", turn_id="t", call_id=f"c{n}", timestamp=n
    )


def numbers(state: EditState, path: Path) -> Sequence[int]:
    """Of one file's edits, by both ways to ask."""
    of_file = [edit.n for edit in state.edits_of(path)]
    assert of_file == [edit.n for edit in state.edits().get(path, ())]
    return of_file


def test_the_edits_of_a_file_are_those_that_happened_wherever_it_is() -> None:
    state = EditState(ROOT)
    for n, name in enumerate(("x", "y", "x", "x", "y"), 1):
        state.apply(intent(n, name))
    state.apply(Settled(n=3, written=False))
    state.apply(Settled(n=4, written=True))
    assert (numbers(state, ROOT / "x"), numbers(state, ROOT / "y")) == ([1, 4], [2, 5])
    state.move_to(ELSEWHERE)
    assert (numbers(state, ROOT / "x"), numbers(state, ELSEWHERE / "x")) == ([], [1, 4])
    again = EditState(ELSEWHERE, state.kept())
    for each in (state, again):
        each.keep_only({2, 4})
        assert (numbers(each, ELSEWHERE / "x"), numbers(each, ELSEWHERE / "y")) == ([4], [2])
