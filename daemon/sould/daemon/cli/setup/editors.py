"""The editors that `sould setup` knows: what each is called, where its configuration is, and what goes into it."""

import contextlib
import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from pydantic import JsonValue

from sould.daemon.cli.output import one_line
from sould.daemon.cli.setup.check import Frontend
from sould.daemon.cli.setup.entry import SettingsEntry
from sould.daemon.cli.setup.format import Format, Launch, UnfitError
from sould.daemon.cli.setup.helix import Languages
from sould.daemon.cli.setup.places import Box, Locating, Places, flatpak, plugin, program
from sould.daemon.cli.setup.programs import LispBlock, LuaFile, ShellSetup, shell

Traces: TypeAlias = Callable[[Places], Sequence[Path]]
"""What is there where somebody uses an editor."""
Forming: TypeAlias = Callable[[Places], Format]
"""What goes into it. Raises UnfitError."""

ASKING_S = 30.0
_SAID = "sould setup asks: "


class EditorSetup(Struct, frozen=True):
    """One editor."""

    name: str
    title: str
    programs: tuple[str, ...]
    traces: Traces
    file: Locating
    form: Forming
    frontend: Frontend
    next: str
    """What to do now, as a sentence."""
    boxes: tuple[Box, ...] = ()
    """Where it may be, too."""
    record: str = ""
    """What is kept of it goes by this; without it by its name."""
    extensible: bool = False
    """Its first program installs VS Code's extensions."""

    def everywhere(self) -> "Sequence[EditorSetup]":
        """It, and it in each of its boxes, as if these were editors of their own."""
        return [self, *map(self._within, self.boxes)]

    def _within(self, box: Box) -> "EditorSetup":
        def there(places: Places) -> Places:
            return replace(places, box=box)

        def traces(places: Places) -> Sequence[Path]:
            return [places.home / box.trace]

        def file(places: Places) -> Path:
            return self.file(there(places))

        def form(places: Places) -> Format:
            return self.form(there(places))

        title, record = f"{self.title} ({box.title})", f"{self.name}-{box.name}"
        return replace(self, title=title, programs=(), traces=traces, file=file, form=form, record=record)

    def present(self, places: Places) -> bool:
        """Whether it seems to be installed."""
        return places.which(*self.programs) is not None or any(path.exists() for path in self.traces(places))


# --- settings in JSON ------------------------------------------------------------------------------------------------


def _agent(places: Places, **more: JsonValue) -> dict[str, JsonValue]:
    command, *arguments = _words(places, "acp")
    return {**more, "command": command, "args": [*arguments], "env": {}}


def _server(places: Places, **more: JsonValue) -> dict[str, JsonValue]:
    return {"command": [*_words(places, "lsp")], **more}


def _words(places: Places, frontend: Frontend) -> Sequence[str]:
    return [*(places.box.out if places.box else ()), program(places), frontend]


def _sublime(places: Places) -> Path:
    if places.support != places.config:
        return places.support / "Sublime Text"
    older = places.config / "sublime-text-3"
    newer = places.config / "sublime-text"
    return older if older.is_dir() and not newer.is_dir() else newer


def _vscode(name: str, title: str, programs: tuple[str, ...], folder: str, *boxes: Box) -> EditorSetup:
    """VS Code, or what is built from it: `folder` has its settings."""

    def user(places: Places) -> Path:
        if places.box is not None and not places.box.config:
            return places.home / places.box.trace / "data/Machine"
        if name == "code-server":
            given = places.environment.get("XDG_DATA_HOME", "")
            return (Path(given) if given.startswith("/") else places.home / ".local/share") / folder / "User"
        return (places.support if places.box is None else places.config) / folder / "User"

    return EditorSetup(
        name,
        title,
        programs,
        lambda places: [user(places)],
        lambda places: user(places) / "settings.json",
        lambda places: SettingsEntry(("acp.agents",), "sould", _agent(places)),
        "acp",
        "The extension ACP Client (formulahendry.acp-client) reads this. With a file of sould's own extension instead: "
        f"sould setup {name} --vsix FILE",
        boxes,
        extensible=True,
    )


def _server_of(folder: str) -> Box:
    """Where an editor on another machine has what it needs on this one, which it works on over SSH."""
    return Box("remote", "remote server", folder)


# --- Neovim and Emacs ------------------------------------------------------------------------------------------------


def _neovim(places: Places) -> Path:
    return places.config / (places.environment.get("NVIM_APPNAME") or "nvim")


def _emacs_directory(places: Places) -> Path:
    """As Emacs chooses (`startup--xdg-or-homedot`)."""
    old, new = places.home / ".emacs.d", places.config / "emacs"
    return new if new.is_dir() and not old.exists() and not (places.home / ".emacs").exists() else old


def _emacs_init(places: Places) -> Path:
    directory = _emacs_directory(places)
    if (directory / "core/core-spacemacs.el").exists():
        raise UnfitError("Spacemacs has its own place for this: `dotspacemacs/user-config` in ~/.spacemacs")
    if (directory / "bin/doom").exists():
        own = Path(places.environment.get("DOOMDIR") or places.config / "doom")
        older = places.home / ".doom.d"
        return (older if older.is_dir() and not own.is_dir() else own) / "config.el"
    for name in (".emacs.el", ".emacs"):
        if (places.home / name).exists():
            return places.home / name
    return directory / "init.el"


def _asked(places: Places, names: Sequence[str], *arguments: str) -> Launch | None:
    """What an editor that ran its whole configuration, without a window, says of how it starts sould.

    Raises:
        UnfitError: it cannot be asked.
    """
    found = places.which(*names)
    if found is None:
        raise UnfitError(f"the command {names[0]!r} was not found, so it cannot be asked how it starts sould")
    done = _run(places, [found, *arguments])
    for line in (done.stdout + "\n" + done.stderr).splitlines():
        if line.startswith(_SAID):  # and not only quotes the question
            with contextlib.suppress(msgspec.DecodeError):
                return Launch((*msgspec.json.decode(line.removeprefix(_SAID), type=list[str]), "lsp"))
    complaint = one_line(done.stderr.strip() or done.stdout.strip() or "it said nothing", 300)
    raise UnfitError(f"with its configuration {found} does not load sould: {complaint}")


def _run(places: Places, words: list[str]) -> "subprocess.CompletedProcess[str]":
    """Raises UnfitError: it did not start, or did not end."""
    try:
        return subprocess.run(
            words,
            env=places.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ASKING_S,
            check=False,
            start_new_session=True,  # an interactive shell would take the terminal from us
        )
    except subprocess.TimeoutExpired:
        raise UnfitError(f"{words[0]} did not come to an end within {ASKING_S:.0f} s") from None
    except OSError as error:
        raise UnfitError(f"{words[0]} cannot be started: {error.strerror}") from None


def _lua(places: Places) -> Format:
    ask = f'lua io.stdout:write("\\n{_SAID}" .. vim.fn.json_encode(require("sould.config").options.command) .. "\\n")'

    def asking() -> Launch | None:
        return _asked(places, ("nvim",), "--headless", "-c", ask, "-c", "qa!")

    return LuaFile(plugin("nvim"), program(places), asking)


def _lisp(places: Places) -> Format:
    ask = f'(princ (format "\\n{_SAID}[%s]\\n" (mapconcat (lambda (word) (format "%S" word)) sould-command ",")))'

    def asking() -> Launch | None:
        init = f"(load {json.dumps(str(_emacs_init(places)))} nil t t)"
        return _asked(places, ("emacs",), "--batch", "--eval", init, "--eval", ask)

    return LispBlock(plugin("emacs"), program(places), asking)


def _languages(places: Places) -> Format:
    """Helix itself says which servers its languages have, by `hx --health LANGUAGE`."""
    found = places.which("hx", "helix")

    def servers(language: str) -> tuple[str, ...] | None:
        if found is None:
            return None
        done = _run(places, [found, "--health", language])
        text = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
        if "Configured language server" not in text:
            return None
        listed = text.split("\nConfigured debug", 1)[0]
        return tuple(name for name in re.findall(r"^\s+\S (\S+):", listed, re.MULTILINE) if name != "sould")

    return Languages(program(places), servers)


def _completion(places: Places) -> Format:
    name, known = shell(places)

    def asking() -> Launch | None:
        return _asked(places, (name,), *known.question(_SAID))

    return ShellSetup(known.block, asking)


EDITORS: dict[str, EditorSetup] = {
    editor.name: editor
    for editor in (
        EditorSetup(
            "zed",
            "Zed",
            ("zed", "zeditor"),
            lambda places: [places.config / "zed"],
            lambda places: places.config / "zed/settings.json",
            lambda places: SettingsEntry(("agent_servers",), "sould", _agent(places, type="custom")),
            "acp",
            "Open the agent panel and choose sould for a new thread.",
            (flatpak("dev.zed.Zed", confined=False),),
        ),
        _vscode(
            "vscode",
            "VS Code",
            ("code",),
            "Code",
            flatpak("com.visualstudio.code"),
            _server_of(".vscode-server"),
        ),
        _vscode(
            "vscodium",
            "VSCodium",
            ("codium",),
            "VSCodium",
            flatpak("com.vscodium.codium"),
            _server_of(".vscodium-server"),
        ),
        _vscode("cursor", "Cursor", ("cursor",), "Cursor", _server_of(".cursor-server")),
        _vscode("windsurf", "Windsurf", ("windsurf",), "Windsurf", _server_of(".windsurf-server")),
        _vscode("code-server", "code-server", ("code-server",), "code-server"),
        EditorSetup(
            "neovim",
            "Neovim",
            ("nvim",),
            lambda places: [_neovim(places)],
            lambda places: _neovim(places) / "plugin/sould.lua",
            _lua,
            "lsp",
            "Start Neovim: :Sould and <Tab> show what there is, :checkhealth sould whether all is well.",
        ),
        EditorSetup(
            "emacs",
            "Emacs",
            ("emacs",),
            lambda places: [places.home / ".emacs.d", places.home / ".emacs", places.config / "emacs"],
            _emacs_init,
            _lisp,
            "lsp",
            "Start Emacs: C-c , ? shows what there is.",
        ),
        EditorSetup(
            "jetbrains",
            "JetBrains IDEs",
            ("idea", "pycharm", "webstorm", "goland", "clion", "rider", "rubymine", "phpstorm", "rustrover"),
            lambda places: [places.home / ".jetbrains", places.support / "JetBrains"],
            lambda places: places.home / ".jetbrains/acp.json",
            lambda places: SettingsEntry(("agent_servers",), "sould", _agent(places), absolute=True),
            "acp",
            "Choose sould in the AI Chat tool window.",
        ),
        EditorSetup(
            "helix",
            "Helix",
            ("hx", "helix"),
            lambda places: [places.config / "helix"],
            lambda places: places.config / "helix/languages.toml",
            _languages,
            "lsp",
            "In a hunk, Space a keeps or rejects it.",
        ),
        EditorSetup(
            "kate",
            "Kate",
            ("kate",),
            lambda places: [places.config / "kate"],
            lambda places: places.config / "kate/lspclient/settings.json",
            lambda places: SettingsEntry(("servers",), "0-sould", _server(places, root="", highlightingModeRegex=".")),
            "lsp",
            "Turn on the plugin LSP Client, and allow the command when Kate asks. Kate has one language server for a file: "
            "sould takes the place of others.",
            (flatpak("org.kde.kate"),),
        ),
        EditorSetup(
            "sublime",
            "Sublime Text",
            ("subl",),
            lambda places: [_sublime(places)],
            lambda places: _sublime(places) / "Packages/User/LSP.sublime-settings",
            lambda places: SettingsEntry(
                ("clients",), "sould", _server(places, enabled=True, selector="source | text")
            ),
            "lsp",
            "Install the package LSP if you do not have it: Package Control: Install Package.",
            (flatpak("com.sublimetext.three"),),
        ),
        EditorSetup(
            "shell",
            "Shell completion",
            (),
            lambda places: [],  # written only where it is asked for by name
            lambda places: shell(places)[1].file(places),
            _completion,
            "lsp",
            "In a new terminal, Tab completes `sould`.",
        ),
    )
}
"""By name, in the order in which they are offered."""
