"""Neovim at a terminal. What its user types goes through `nvim_input`; what its buffers hold is asked over its own RPC."""

import os
import re
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from soultest.daemon import until
from soultest.editors.driving import TerminalEditor, connected
from soultest.editors.msgpack import Unpacker, packed
from soultest.screen import PATIENCE, Screen, screen
from soultest.world import World

_ATTACHED = """
local clients = vim.lsp.get_clients and vim.lsp.get_clients({ bufnr = 0 }) or vim.lsp.buf_get_clients(0)
return next(clients) ~= nil
"""
_LENSES = """
return vim.tbl_map(function(found) return (found.lens or found).command.title end, vim.lsp.codelens.get(0))
"""


class Rpc:
    """One connection to a running Neovim. Requests are answered in turn; what it says unasked is left out."""

    def __init__(self, path: Path) -> None:
        self._socket = connected(path)
        self._reader = self._socket.makefile("rb")
        self._unpacker = Unpacker(self._reader.read)

    def request(self, method: str, *arguments: Any) -> Any:
        """What a function of Neovim's API answers."""
        self._socket.sendall(packed([0, 1, method, list(arguments)]))
        while True:
            kind, *rest = self._unpacker.value()
            if kind == 1:
                _, error, result = rest
                assert error is None, f"{method}: {error}"
                return result

    def close(self) -> None:
        """Hang up."""
        self._reader.close()
        self._socket.close()


class Neovim(TerminalEditor):
    """`lua` beside what every editor can."""

    def __init__(self, screen: Screen, rpc: Rpc) -> None:
        super().__init__(screen)
        self._rpc = rpc

    def lua(self, code: str, *arguments: Any) -> Any:
        """What Lua code returns; `...` are the arguments. A message that waits for Enter gets it."""
        if self._rpc.request("nvim_get_mode")["blocking"]:
            self.keys("<CR>")
        return self._rpc.request("nvim_exec_lua", code, list(arguments))

    def keys(self, keys: str) -> None:
        """Press keys, by Neovim's names for them."""
        self._rpc.request("nvim_input", keys)

    def ready(self) -> None:
        until(lambda: self.lua(_ATTACHED), PATIENCE, "a language server")

    def buffer(self) -> str:
        lines = self.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')")
        return f"{lines}\n"

    def unsaved(self) -> bool:
        return bool(self.lua("return vim.bo.modified"))

    def go(self, line: int) -> None:
        self.keys(f"<Esc>{line}G0")
        until(lambda: self.lua("return vim.fn.line('.')") == line, PATIENCE, f"line {line}")

    def append(self, text: str) -> None:
        self.keys(f"<Esc>A{text.replace('<', '<lt>')}<Esc>")

    def undo(self) -> None:
        self.keys("<Esc>u")

    def save(self) -> None:
        self.keys("<Esc>:w<CR>")

    def act(self, title: str) -> None:
        self.keys("<Esc>:lua vim.lsp.buf.code_action()<CR>")
        self.choose(title)

    def offered(self) -> list[str]:
        self.keys("<Esc>:lua vim.lsp.buf.code_action()<CR>")
        self.screen.wait("Type number and <Enter>")
        titles = re.findall(r"^\d+: (.*?)\s*$", "\n".join(self.screen.lines), re.MULTILINE)
        self.keys("<CR>")
        return titles

    def choose(self, title: str) -> None:
        asked = rf"(\d+)[:.] {re.escape(title)}.*Type number and <Enter>"
        try:
            found = until(lambda: re.search(asked, self.screen.text), PATIENCE, f"{title} asked")
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen shows:\n{self.screen.text}") from None
        self.keys(f"{found[1]}<CR>")

    def lenses(self) -> list[str]:
        return list(self.lua(_LENSES))

    def kill(self) -> None:
        os.kill(self.lua("return vim.fn.getpid()"), signal.SIGKILL)


@contextmanager
def neovim(world: World, program: Path, settings: str, file: Path, name: str = "nvim") -> Generator[Neovim]:
    """Neovim with these settings (Lua) and that file, until the block is left. Two in one world have different names."""
    init, listening = world.root / f"{name}.lua", world.root / f"{name}.socket"
    init.write_text(settings)
    command = f"exec '{program}' -u '{init}' -i NONE -n --listen '{listening}' '{file}'"
    with screen(world, command, world.project, name) as shown:
        rpc = Rpc(listening)
        try:
            yield Neovim(shown, rpc)
        finally:
            rpc.close()
