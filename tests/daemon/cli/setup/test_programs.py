"""Configurations that are programs: what is ours comes and goes, and every other byte of the user's Lisp and Lua stays."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sould.daemon.cli.setup.format import UnfitError, taken_back
from sould.daemon.cli.setup.programs import LispBlock, LuaFile

LISP = LispBlock(Path("/opt/sould"), "/opt/bin/sould", lambda: None)
LUA = LuaFile(Path("/opt/sould"), "/opt/bin/sould", lambda: None)

PIECES = [
    ";;; init.el --- mine -*- lexical-binding: t -*-\n",
    '(setq a "(;" b ?\\( c \'[1])\n',
    "(use-package x\n  :config ; )\n  (x-mode 1))\n",
    '(message "two\nlines \\" of ; text")\n',
    "; sould: end\n",
    "\n",
    "   \n",
    "(provide 'init)\n",
    ";;; init.el ends here\n",
    ";; Local Variables:\n;; eval: (a)\n;; End:\n",
    "(a)",
]


@st.composite
def inits(draw: st.DrawFn) -> str:
    text = "".join(draw(st.lists(st.sampled_from(PIECES), max_size=6)))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@example("")
@example("(a)")
@example("\n\n(a)\n\n")
@given(inits())
def test_what_came_into_an_init_file_goes_to_the_byte(text: str) -> None:
    result = LISP.added(text)
    assert LISP.added(result) == result
    assert taken_back(LISP, text, result, result) == text


@given(inits())
def test_what_was_there_comes_back_to_the_byte_beside_what_the_user_wrote_since(text: str) -> None:
    result = LISP.added(text)
    assert taken_back(LISP, text, result, f"; before\n{result}") == f"; before\n{text}"
    assert taken_back(LISP, text, result, f"{result}\n; later\n") == f"{text}\n; later\n"


@given(st.text(alphabet="-\n \tabl=(){}\"'", max_size=30))
def test_a_lua_file_of_the_users_is_never_touched(text: str) -> None:
    if not text.strip():
        assert taken_back(LUA, text, LUA.added(text), LUA.added(text)) == text
        return
    with pytest.raises(UnfitError):
        LUA.added(text)
    assert LUA.taken(None, "", text) == text
