"""Long output at a terminal, page by page as git shows it: through `$PAGER`, else `less`."""

import os
import shutil
import sys

import click


def is_screen() -> bool:
    """Whether standard output is a terminal that can do more than print."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def show(text: str, *, colour: bool, stays: bool = False) -> None:
    """Print it; through a pager when somebody sits at a screen. `colour`: its colours are to be shown.

    `stays`: something else takes its place on the screen afterwards, so it is to be seen until the user has enough of it.
    """
    pager = os.environ.get("PAGER", "less").strip() if is_screen() else ""
    shown = text if colour else click.unstyle(text)
    if pager in ("", "cat") or shutil.which(pager.split()[0]) is None:
        click.echo(shown, color=colour)
        if stays:
            click.echo("Enter goes back.", nl=False)
            sys.stdin.readline()
    else:
        _page(pager, shown, stays=stays)


def _page(pager: str, text: str, *, stays: bool) -> None:
    import subprocess  # noqa: PLC0415 -- at a terminal only

    environment = {"LESS": "FRX", "LV": "-c"} | dict(os.environ)
    if os.path.basename(pager) == "less" and "R" not in environment["LESS"].upper():
        pager += " -R"  # else it shows colours as the characters they are made of
    if os.path.basename(pager.split()[0]) == "less" and stays:
        pager += " -+F"  # else it ends at once where all fits the screen
    with subprocess.Popen(pager, shell=True, stdin=subprocess.PIPE, env=environment) as process:  # noqa: S602 -- the user's own
        assert process.stdin is not None
        try:
            process.stdin.write(f"{text}\n".encode(errors="replace"))
            process.stdin.close()
        except BrokenPipeError:
            pass  # who has seen enough leaves
        while True:
            try:
                process.wait()
            except KeyboardInterrupt:  # Ctrl-C is for the pager
                continue
            return
