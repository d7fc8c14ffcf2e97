"""`sould setup`: one command that connects an editor, shows what it would do, checks it, and takes it back."""

import difflib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sould.daemon.cli.output import FAILED, USAGE, Command, CommandError, visible
from sould.daemon.cli.setup import files
from sould.daemon.cli.setup.check import CheckError, answers
from sould.daemon.cli.setup.editors import EDITORS, EditorSetup
from sould.daemon.cli.setup.files import File, Records, SetupRecord
from sould.daemon.cli.setup.format import Format, UnfitError, taken_back
from sould.daemon.cli.setup.places import Places
from sould.daemon.paths import Paths


@click.command(cls=Command)
@click.argument("editor", required=False, type=click.Choice(list(EDITORS)), metavar="[EDITOR]")
@click.option("--dry-run", is_flag=True, help="Show the change, and write nothing.")
@click.option("--check", is_flag=True, help="Start sould as the editor would, and say what is wrong.")
@click.option("--undo", is_flag=True, help="Take back what setup wrote, and nothing else.")
@click.option(
    "--vsix",
    type=click.Path(exists=True, dir_okay=False),
    help="VS Code and its forks: install sould's extension from a file.",
)
def setup(editor: str | None, dry_run: bool, check: bool, undo: bool, vsix: str | None) -> None:
    """Connect an EDITOR: zed, vscode, vscodium, cursor, windsurf, code-server, neovim, emacs, jetbrains, helix, kate, sublime.

    Without one, those found here are offered. One from Flatpak has its settings elsewhere, and so has VS Code's server on a
    machine that you work on over SSH: each place where the editor is gets what it needs.

    `shell` instead of an editor: Tab completes sould's commands in bash, zsh or fish, whichever is yours.

    The editor's own configuration is edited: comments and layout stay, and so does all that is yours. What was there
    before is kept beside the file, as FILE.sould-backup. A second time changes nothing.

    Where no model is set up yet, a terminal is asked for one at the end: a key, a sign-in, or a server on this machine.

    Examples:
      sould setup
      sould setup zed --dry-run
      sould setup zed
      sould setup zed --check
      sould setup zed --undo
      sould setup shell
    """
    if sum((dry_run and not undo, check, undo, vsix is not None)) > 1:
        raise CommandError(
            "--dry-run, --check, --undo and --vsix are for one each; --undo may be tried with --dry-run.", USAGE
        )
    places = Places(os.environ)
    if vsix is not None:
        _install_extension(places, editor, vsix)
    elif editor is None:
        _offer(places, dry_run=dry_run, check=check, undo=undo)
    else:
        for each in _meant(EDITORS[editor], places, undo=undo):
            _one(each, places, dry_run=dry_run, check=check, undo=undo)
    if not (dry_run or check or undo):
        from sould.daemon.cli.setup.firstmodel import offer_model  # noqa: PLC0415 -- the model client is slow to import

        offer_model()


def _meant(editor: EditorSetup, places: Places, *, undo: bool) -> Sequence[EditorSetup]:
    """Wherever it is installed; where it is nowhere, the usual place."""
    return _here(editor, places, undo=undo) or [editor]


def _here(editor: EditorSetup, places: Places, *, undo: bool) -> Sequence[EditorSetup]:
    """Wherever it is installed; for `undo` wherever something was written."""
    records = Records(Paths(os.environ))
    return [each for each in editor.everywhere() if (records.of(_kept(each)) if undo else each.present(places))]


def _kept(editor: EditorSetup) -> str:
    return editor.record or editor.name


def _one(editor: EditorSetup, places: Places, *, dry_run: bool, check: bool, undo: bool) -> None:
    if check:
        _check(editor, places)
    elif undo:
        _undo(editor, places, dry_run=dry_run)
    else:
        _connect(editor, places, dry_run=dry_run)


def _offer(places: Places, *, dry_run: bool, check: bool, undo: bool) -> None:
    """Each editor that is here; where nobody can be asked, only what would be done."""
    found = [each for editor in EDITORS.values() for each in _here(editor, places, undo=undo)]
    if not found:
        if undo:
            raise CommandError("There is nothing to take back: setup has connected no editor.")
        raise CommandError(f"No editor was found here. Name yours: sould setup {'|'.join(EDITORS)}")
    asked = sys.stdin.isatty() and not dry_run and not check
    for editor in found:
        if not asked and not dry_run and not check:
            click.echo(f"{editor.title}: sould setup {editor.name}{' --undo' if undo else ''}")
            continue
        question = f"Disconnect {editor.title}?" if undo else f"Connect {editor.title}?"
        if asked and not click.confirm(question, default=True, err=True):
            continue
        try:
            _one(editor, places, dry_run=dry_run, check=check, undo=undo)
        except CommandError as error:  # the others are no worse for it
            click.echo(visible(str(error)), err=True)


# --- connecting ------------------------------------------------------------------------------------------------------


def _connect(editor: EditorSetup, places: Places, *, dry_run: bool) -> None:
    form = _form(editor, places)
    records = Records(Paths(os.environ))
    missing = bool(editor.programs) and not editor.present(places)
    path: Path | None = None
    try:
        path = editor.file(places)
        if dry_run:
            file = files.read(path)
            _show(file, form.added(file.text or ""), places)
            return
        with records.locked():
            file = files.read(path)
            text = form.added(file.text or "")
            if text != file.text:
                _write(editor, form, records, file, text)
    except UnfitError as error:
        where = places.shown(path) if path else "its configuration"
        raise CommandError(
            f"{editor.title}: {error}. Nothing was changed. To do it by hand, add this to {where}:\n\n{form.manual()}"
        ) from None
    if text == file.text:
        click.echo(f"{editor.title}: sould is set up already, in {visible(places.shown(path))}.")
        return
    kept = f" What was there is in {file.backup.name} beside it." if file.text is not None else ""
    click.echo(f"{editor.title}: sould is set up, in {visible(places.shown(path))}.{visible(kept)}")
    if missing:
        click.echo("  It was not found here. When you install it, it reads that.")
    click.echo(f"  {editor.next}")
    click.echo(f"  Try it: sould setup {editor.name} --check")


def _write(editor: EditorSetup, form: Format, records: Records, file: File, text: str) -> None:
    """Write, and remember what the file was without anything of ours."""
    earlier = records.of(_kept(editor))
    before, made = file.text, tuple[str, ...]()
    if earlier is not None and earlier.file == str(file.path) and file.text is not None:
        before = taken_back(form, earlier.before, earlier.after, file.text)
        before, made = (None if earlier.before is None and not before else before), earlier.made
    written = SetupRecord(str(file.path), before, text, made)
    records.keep(_kept(editor), written)  # first: what is not remembered cannot be taken back
    try:
        fresh = files.write(file, text)
    except UnfitError:
        records.forget(_kept(editor)) if earlier is None else records.keep(_kept(editor), earlier)
        raise
    records.keep(_kept(editor), SetupRecord(str(file.path), before, text, made or fresh))


def _undo(editor: EditorSetup, places: Places, *, dry_run: bool) -> None:
    records = Records(Paths(os.environ))
    with records.locked():
        record = records.of(_kept(editor))
        if record is None:
            raise CommandError(f"{editor.title}: there is nothing to take back; setup has written nothing.")
        form = _form(editor, places)
        try:
            file = files.read(Path(record.file))
            text = "" if file.text is None else taken_back(form, record.before, record.after, file.text)
            if dry_run:
                _show(file, text, places)
                return
            if file.text is not None and record.before is None and not text:
                files.remove(file, record.made)
            elif file.text is not None and text != file.text:
                files.write(file, text)
                if text == record.before:
                    file.backup.unlink()  # the file itself is that again
        except UnfitError as error:
            raise CommandError(
                f"{editor.title}: {error}. Nothing was changed. To do it by hand, remove this from {record.file}:\n\n{form.manual()}"
            ) from None
        records.forget(_kept(editor))
    click.echo(f"{editor.title}: what setup wrote in {visible(places.shown(file.path))} is taken back.")


def _form(editor: EditorSetup, places: Places) -> Format:
    try:
        return editor.form(places)
    except UnfitError as error:
        raise CommandError(f"{editor.title}: {error}.") from None


def _show(file: File, text: str, places: Places) -> None:
    name = places.shown(file.path)
    old, new = (file.text or "").splitlines(keepends=True), text.splitlines(keepends=True)
    lines = list(difflib.unified_diff(old, new, name, name))
    shown = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    click.echo(visible(shown), nl=False) if lines else click.echo(f"Nothing would change in {visible(name)}.")


# --- checking --------------------------------------------------------------------------------------------------------


def _check(editor: EditorSetup, places: Places) -> None:
    form = _form(editor, places)
    again = f"run: sould setup {editor.name}"
    try:
        path = editor.file(places)
        launch = form.launch(files.read(path).text or "")
        if launch is None:
            raise CommandError(f"{editor.title}: {places.shown(path)} does not name sould; {again}")
        said = answers(launch, editor.frontend, places.environment)
    except UnfitError as error:
        raise CommandError(f"{editor.title}: {error}.") from None
    except CheckError as error:
        raise CommandError(f"{editor.title}: {error}; {again}, or see: sould doctor", FAILED) from None
    click.echo(f"{editor.title}: {visible(' '.join(launch.words))} answers: {said}.")


# --- VS Code's extension ---------------------------------------------------------------------------------------------


def _install_extension(places: Places, editor: str | None, vsix: str) -> None:
    chosen = EDITORS.get(editor or "")
    if chosen is None or not chosen.extensible:
        raise CommandError("--vsix is for VS Code and what is built from it: sould setup vscode --vsix FILE", USAGE)
    found = places.which(*chosen.programs)
    if found is None:
        name = chosen.programs[0]
        raise CommandError(
            f"{chosen.title}: the command `{name}` is not on PATH. There, run: Shell Command: Install '{name}' command in "
            f"PATH. Or choose: Extensions: Install from VSIX…, and {vsix}"
        )
    done = subprocess.run([found, "--install-extension", vsix], check=False)
    if done.returncode:
        raise CommandError(
            f"{chosen.title} did not install the extension: `{found} --install-extension {vsix}` ended with {done.returncode}."
        )
    click.echo(f"{chosen.title}: the extension is installed. Choose sould in the activity bar.")
