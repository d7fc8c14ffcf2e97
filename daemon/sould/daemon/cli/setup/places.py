"""Where editors keep their configuration, by the environment that `sould setup` runs in. Looks at the disk, changes nothing."""

import importlib.metadata
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from sould.daemon.cli.setup.format import UnfitError

OUT = ("flatpak-spawn", "--host")
"""With these words a program in Flatpak's sandbox starts one outside."""
SANDBOXES = (".var/app", "snap")
"""Below the home, what Flatpak and Snap keep of each program: a configuration there is that program's and nobody else's."""


class Box(Struct, frozen=True):
    """A place of its own in which an editor may be installed, too. All paths are below the home."""

    name: str
    title: str
    trace: str
    """What is there if it is."""
    config: str = ""
    """What it has in place of ~/.config."""
    out: tuple[str, ...] = ()
    """The words with which it starts programs outside; none where it runs outside itself."""


class Places(Struct, frozen=True):
    """The directories of one user, and the programs they have."""

    environment: Mapping[str, str]
    box: Box | None = None
    """The one that is meant, and not what is outside of all."""

    @property
    def home(self) -> Path:
        """The user's home: without HOME, the one of the system's list of users."""
        given = self.environment.get("HOME", "")
        return Path(given) if given.startswith("/") else Path("~").expanduser()

    @property
    def config(self) -> Path:
        """XDG's directory; a relative value counts as unset, and so does that of the sandbox whose terminal this is."""
        if self.box is not None and self.box.config:
            return self.home / self.box.config
        given = self.environment.get("XDG_CONFIG_HOME", "")
        foreign = any(Path(given).is_relative_to(self.home / each) for each in SANDBOXES)
        return Path(given) if given.startswith("/") and not foreign else self.home / ".config"

    @property
    def support(self) -> Path:
        """Where programs with windows keep their settings: on macOS not where XDG says."""
        return self.home / "Library/Application Support" if sys.platform == "darwin" else self.config

    def which(self, *names: str) -> str | None:
        """The first of these programs that is on PATH."""
        path = self.environment.get("PATH")
        return next((found for name in names if (found := shutil.which(name, path=path))), None)

    def shown(self, path: Path) -> str:
        """`path` as people write it."""
        try:
            return f"~/{path.relative_to(self.home)}"
        except ValueError:
            return str(path)


Locating: TypeAlias = Callable[[Places], Path]
"""Where a configuration is. Raises UnfitError."""


def flatpak(app: str, *, confined: bool = True) -> Box:
    """An editor as Flatpak installs it. `confined`: it does not leave its sandbox by itself."""
    return Box("flatpak", "Flatpak", f".var/app/{app}", f".var/app/{app}/config", OUT if confined else ())


def program(places: Places) -> str:
    """The absolute path with which editors start sould: the one that runs now. Editors search another PATH than a terminal.

    Raises:
        UnfitError: it is not installed.
    """
    running = Path(sys.argv[0]).absolute()
    if running.name == "sould" and running.is_file():
        return str(running)
    found = places.which("sould") or shutil.which("sould", path=str(Path(sys.executable).parent))
    if found is None:
        raise UnfitError("the command `sould` is not on PATH, so no editor could start it")
    return str(Path(found).absolute())


def plugin(name: str) -> Path:
    """The directory of the plugin for an editor: in the source tree, or as it was installed.

    Raises:
        UnfitError: this installation has none.
    """
    source = Path(__file__).parents[5] / "editors" / name
    if source.is_dir():
        return source
    marked = f"share/sould/{name}/"
    for file in importlib.metadata.files("sould") or ():
        before, found, _ = str(file.locate()).partition(marked)
        if found:
            return Path(before, marked).resolve()
    raise UnfitError(f"this installation lacks the plugin for it ({marked}); install sould again")
