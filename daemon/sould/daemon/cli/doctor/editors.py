"""Checks of editors' settings: is sould set up, and would the commands named there start?"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct
from pydantic import JsonValue

from sould.agents.tools.languageservers.programs import languages_in, launch_for
from sould.daemon.cli.doctor.finding import Finding, SetUp, ok, warn
from sould.daemon.cli.setup.editors import EDITORS
from sould.daemon.cli.setup.entry import started
from sould.daemon.cli.setup.jsonc import parse
from sould.daemon.cli.setup.places import Places
from sould.daemon.cli.trust import trust_store
from sould.daemon.configuration.configuration import ConfigFileError, load

SUBLIME = "Library/Application Support/Sublime Text"
SET_UP = "Connect yours: sould setup"
_JSON = (
    ("zed", "agent_servers", "context_servers"),
    ("jetbrains", "agent_servers", "mcp_servers"),
    *((name, "acp.agents", "mcp.servers") for name, editor in EDITORS.items() if editor.extensible),
)
"""What `sould setup` calls them, and where they keep agents and MCP servers."""


class _Editor(Struct, frozen=True):
    """Where an editor keeps agents (`servers`) and MCP servers (`tools`), by key."""

    name: str
    file: Path
    servers: str
    tools: str
    absolute: bool = False
    """The editor does not search PATH."""


def editor_settings(setup: SetUp) -> Iterator[Finding]:
    """One finding for each known settings file; MCP servers that cannot start are named too."""
    found = False
    for editor in _editors(setup):
        if not editor.file.is_file():
            continue
        try:
            settings = parse(editor.file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            yield warn(
                "editors", f"{editor.name}: {editor.file} cannot be read ({error}).", "Fix that file in the editor."
            )
            continue
        for finding in _agents(setup, editor, settings):
            found = True
            yield finding
        yield from _mcp(setup, editor, settings)
    for path in _textual(setup):
        found = True
        yield ok("editors", f"{path} names sould.")
    if not found:
        yield warn("editors", "No editor's settings name sould yet.", SET_UP)


def mcp_servers(setup: SetUp) -> Iterator[Finding]:
    """MCP servers in the user's and the project's own lists."""
    for path in (Path(setup.paths.config) / "mcp.json", setup.cwd / ".mcp.json"):
        if not path.is_file():
            continue
        try:
            settings = parse(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            yield warn("mcp", f"{path} cannot be read ({error}).", "Fix that file.")
            continue
        yield from _mcp(setup, _Editor(str(path), path, "", "mcpServers"), settings)


def language_servers(setup: SetUp) -> Iterator[Finding]:
    """Which language servers agents would ask in this directory when no editor is open."""
    try:
        settings = load(setup.paths, setup.environment).config.languageservers
    except ConfigFileError:
        return  # another check says so
    root = setup.cwd.resolve()
    launches = {
        language.name: launch_for(language, root, setup.environment, settings) for language in languages_in(root)
    }
    known = [f"{launch.name} ({name})" for name, launch in launches.items() if launch is not None]
    missing = [name for name, launch in launches.items() if launch is None]
    trusted = trust_store(setup.paths).state(setup.cwd) == "trusted"
    if known and trusted:
        yield ok("language servers", f"Agents here can ask {', '.join(known)}, also when no editor is open.")
    elif known:
        yield ok("language servers", f"{', '.join(known)} would be run for agents here, if you trusted this directory.")
    elif missing and settings.enabled:
        yield ok(
            "language servers", f"No language server is installed for what is in this directory: {', '.join(missing)}."
        )


def _editors(setup: SetUp) -> Iterator[_Editor]:
    places = Places(setup.environment)
    for name, servers, tools in _JSON:
        for each in EDITORS[name].everywhere():
            yield _Editor(each.title, each.file(places), servers, tools, absolute=name == "jetbrains")


def _textual(setup: SetUp) -> Iterator[Path]:
    """Configurations that are programs, and those of language servers: it is only known whether they name sould."""
    configuration = Path(setup.environment.get("XDG_CONFIG_HOME") or setup.home / ".config")
    files = [configuration / "helix/languages.toml", configuration / "kate/lspclient/settings.json"]
    files += [
        base / "Packages/User/LSP.sublime-settings" for base in (configuration / "sublime-text", setup.home / SUBLIME)
    ]
    files += [setup.home / ".emacs", setup.home / ".emacs.d/init.el", configuration / "emacs/init.el"]
    files += [configuration / "nvim/init.lua", configuration / "nvim/plugin/sould.lua"]
    files += sorted((configuration / "nvim/lua").glob("**/*.lua"))[:200]
    for path in files:
        try:
            if re.search(r"\bsould\b", path.read_text("utf-8", "replace")):
                yield path
        except OSError:
            continue


def _agents(setup: SetUp, editor: _Editor, settings: JsonValue) -> Iterator[Finding]:
    for name, entry in _entries(settings, editor.servers):
        launch = started(entry)
        command, arguments = (launch.words[0], launch.words[1:]) if launch is not None else ("", ())
        if Path(command).name != "sould":
            continue
        if editor.absolute and not Path(command).is_absolute():
            yield warn(
                "editors",
                f"{editor.name}: agent {name!r} has the command {command!r}, and {editor.name} wants a full path.",
                f"Write the full path in {editor.file}: {shutil.which('sould', path=_path(setup)) or 'see `which sould`'}",
            )
        elif not _startable(setup, command):
            yield warn(
                "editors",
                f"{editor.name}: agent {name!r} has the command {command!r}, which does not exist.",
                f"Correct it in {editor.file}; `which sould` prints the path.",
            )
        elif "acp" not in arguments:
            yield warn(
                "editors",
                f'{editor.name}: agent {name!r} starts sould without "acp".',
                f'Write "args": ["acp"] in {editor.file}.',
            )
        else:
            yield ok("editors", f"{editor.name}: agent {name!r} is set up.")


def _mcp(setup: SetUp, editor: _Editor, settings: JsonValue) -> Iterator[Finding]:
    for name, entry in _entries(settings, editor.tools):
        command = entry.get("command")
        if isinstance(command, dict):
            command = command.get("path")  # Zed's older form
        if isinstance(command, str) and command and not _startable(setup, command):
            yield warn(
                "mcp",
                f"{editor.name}: the MCP server {name!r} cannot start, because {command!r} is not found.",
                f"Install it, or correct or remove the entry in {editor.file}.",
            )


def _entries(settings: JsonValue, key: str) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    entries = settings.get(key) if isinstance(settings, dict) and key else None
    if isinstance(entries, dict):
        for name, entry in entries.items():
            if isinstance(entry, dict):
                yield name, entry


def _startable(setup: SetUp, command: str) -> bool:
    return shutil.which(os.path.expanduser(command), path=_path(setup)) is not None


def _path(setup: SetUp) -> str:
    return setup.environment.get("PATH", os.defpath)
