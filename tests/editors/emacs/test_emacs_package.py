"""The Emacs package as its makers check it: the compiler's warnings, package-lint, checkdoc, installing it, and its neighbours."""

import subprocess
from pathlib import Path

import pytest

from soultest.daemon import until
from soultest.screen import PATIENCE
from soultest.souldemacs import PACKAGE, OpenEmacs, hunks
from soultest.world import World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

QUIET = """(setq native-comp-jit-compilation nil native-comp-deferred-compilation nil
                 native-comp-enable-subr-trampolines nil comp-enable-subr-trampolines nil)"""
OUTDATED = "This makes the package uninstallable in all released Emacs versions."
"""What the package-lint of Debian 12, made before Emacs 28, says of a package that needs 28."""
LINT = """
(require 'package-lint)
(require 'checkdoc)
(setq package-lint-main-file "sould.el")
(dolist (file command-line-args-left)
  (with-current-buffer (find-file-noselect file)
    (pcase-dolist (`(,line ,_ ,kind ,text) (package-lint-buffer))
      (princ (format "%s:%d: %s: %s\\n" (file-name-nondirectory file) line kind text)))
    (let ((checkdoc-diagnostic-buffer "*checkdoc*"))
      (checkdoc-current-buffer t))))
(with-current-buffer "*checkdoc*"
  (goto-char (point-min))
  (while (re-search-forward "^.+:[0-9]+: .+$" nil t)
    (princ (concat (match-string 0) "\\n"))))
(kill-emacs 0)
"""


def batch(emacs: Path, folder: Path, *arguments: str) -> str:
    """What an Emacs without a screen says."""
    command = [str(emacs), "-Q", "--batch", "--eval", QUIET, *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


@pytest.fixture
def sources(tmp_path: Path) -> list[str]:
    """A copy of the package's files, because compiling writes beside them."""
    for file in PACKAGE.glob("*.el"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return sorted(str(file) for file in tmp_path.glob("*.el"))


def test_it_compiles_without_a_warning(emacs_program: Path, sources: list[str], tmp_path: Path) -> None:
    said = batch(
        emacs_program, tmp_path, "-L", ".", "--eval", "(setq byte-compile-error-on-warn t)", "-f", "batch-byte-compile",
        *sources,
    )  # fmt: skip
    assert said == ""
    assert len(list(tmp_path.glob("*.elc"))) == len(sources)


def test_package_lint_and_checkdoc_have_nothing_to_say(emacs_program: Path, sources: list[str], tmp_path: Path) -> None:
    (tmp_path / "lint.lisp").write_text(LINT)
    libraries = [
        argument
        for name in ("package-lint", "let-alist")
        for found in emacs_program.parents[1].glob(f"bookworm/usr/share/emacs/site-lisp/elpa-src/{name}-*")
        for argument in ("-L", str(found))
    ]
    said = batch(emacs_program, tmp_path, *libraries, "-l", "lint.lisp", *sources)
    assert [line for line in said.splitlines() if ".el:" in line and OUTDATED not in line] == []


def test_it_installs_as_a_package_and_loads_what_is_used_only(emacs_program: Path, tmp_path: Path) -> None:
    settings = f'(setq user-emacs-directory "{tmp_path}/" package-user-dir "{tmp_path}/elpa")'
    batch(
        emacs_program, tmp_path, "--eval", settings, "--eval", f'(progn (require \'package) (package-install-file "{PACKAGE}"))'
    )  # fmt: skip
    shown = "(princ (list (autoloadp (symbol-function 'sould-chat)) global-sould-mode (featurep 'sould-chat)))"
    said = batch(
        emacs_program, tmp_path, "--eval", settings, "-f", "package-initialize", "--eval", "(global-sould-mode 1)",
        "--eval", "(sould-setup-keys)", "--eval", shown,
    )  # fmt: skip
    assert said.endswith("(t t nil)")


NEIGHBOURS = "(mapc #'require '(diff-mode project crm xref transient flymake jsonrpc url-util button ansi-color))"
SNAPSHOT = r"""
(defun values-now ()
  (let (found)
    (mapatoms (lambda (name)
                (and (boundp name) (not (string-prefix-p "sould" (symbol-name name)))
                     (string-match-p "-\\(hooks?\\|functions?\\)\\'" (symbol-name name))
                     (push (cons name (copy-tree (symbol-value name))) found))))
    found))
"""
CHANGED = """
(princ (list 'changed (delq nil (mapcar (lambda (each) (unless (equal (symbol-value (car each)) (cdr each)) (car each)))
                                        before))
             'keys (where-is-internal 'sould-keep)))
"""


def test_loading_it_changes_no_hook_and_binds_no_key(emacs_program: Path, tmp_path: Path) -> None:
    features = " ".join(sorted(file.stem for file in PACKAGE.glob("*.el")))
    said = batch(
        emacs_program, tmp_path, "-L", str(PACKAGE), "--eval", NEIGHBOURS, "--eval", SNAPSHOT,
        "--eval", "(setq before (values-now))", "--eval", f"(mapc #'require '({features}))", "--eval", CHANGED,
    )  # fmt: skip
    assert said.endswith("(changed nil keys nil)"), said


def test_turning_the_mode_off_leaves_nothing_behind(world: World, open_emacs: OpenEmacs) -> None:
    (world.project / "notes.txt").write_text("one\n")
    emacs = open_emacs("notes.txt")
    ours = """
    (vconcat (seq-filter (lambda (each) (and (symbolp each) (string-prefix-p "sould" (symbol-name each))))
                         (append (default-value 'post-command-hook) (default-value 'kill-buffer-hook)
                                 (default-value 'window-buffer-change-functions) before-change-functions after-save-hook)))
    """
    assert emacs.lisp(ours) != []
    emacs.command("global-sould-mode")
    until(lambda: emacs.lisp(ours) == [], PATIENCE, "no hook of the package")
    assert not emacs.lisp("(advice-function-member-p #'sould-window--changed after-focus-change-function)")


NAMED = r"""
(let (found)
  (mapatoms (lambda (name)
              (and (string-match-p "\\`\\(global-\\)?sould-" (symbol-name name))
                   (not (string-match-p "--\\|-mode\\(-hook\\)?\\'" (symbol-name name)))
                   (or (commandp name) (and (custom-variable-p name) (get name 'custom-type)))
                   (push name found))))
  (princ (list 'named (length (seq-filter #'custom-variable-p found))
               (mapconcat #'symbol-name (sort found #'string<) " "))))
"""


def test_the_manual_names_every_command_and_option(emacs_program: Path, tmp_path: Path) -> None:
    features = " ".join(sorted(file.stem for file in PACKAGE.glob("*.el")))
    load = f"(mapc #'require '({features}))"
    said = batch(emacs_program, tmp_path, "-L", str(PACKAGE), "--eval", load, "--eval", NAMED)
    count, _, names = said.rpartition("(named ")[2].rstrip(")").partition(" ")
    manual = (PACKAGE / "sould.texi").read_text()
    assert [
        name for name in names.split() if f"@code{{{name}}}" not in manual and f"@item {name}\n" not in manual
    ] == []
    assert int(count) >= 12


def nodes(manual: Path) -> str:
    """What it says, without the line that names its maker and the places that depend on that."""
    return manual.read_text().partition("\x1f")[2].partition("\x1f\nTag Table")[0]


def test_the_manual_that_is_shown_is_made_from_its_source(emacs_program: Path, tmp_path: Path) -> None:
    (tmp_path / "sould.texi").write_text((PACKAGE / "sould.texi").read_text())
    make = '(progn (require \'texinfmt) (find-file "sould.texi") (texinfo-format-buffer t) (save-buffer))'
    batch(emacs_program, tmp_path, "--eval", "(setq make-backup-files nil)", "--eval", make)
    assert nodes(tmp_path / "sould.info") == nodes(PACKAGE / "sould.info")


def test_another_language_server_keeps_the_buffer(world: World, open_emacs: OpenEmacs) -> None:
    """eglot takes one server for a buffer; the package is beside it."""
    (world.project / "area.py").write_text("def area(w, h):\n    return w * g\n")
    edit = call("StrReplaceFile", "e", path="area.py", edit={"old": "area(", "new": "surface("})
    world.script([edit, "text: Done."])
    emacs = open_emacs(
        "area.py",
        more="""
        (require 'eglot)
        (setq eglot-server-programs '((python-mode . ("basedpyright-langserver" "--stdio"))))
        (add-hook 'python-mode-hook #'eglot-ensure)
        """,
    )
    until(lambda: emacs.lisp("(and (eglot-managed-p) (flymake-diagnostics) t)"), PATIENCE, "pyright's word about g")
    assert world.sould("run", "--mode", "review", "rename it").returncode == 0
    emacs.shows("def surface(w, h):\n    return w * g\n")
    until(lambda: [hunk["line"] for hunk in hunks(emacs)] == [1], PATIENCE, "the hunk")
    assert emacs.lisp("(and (eglot-managed-p) (flymake-diagnostics) t)")


def test_the_manual_is_shown(world: World, open_emacs: OpenEmacs) -> None:
    (world.project / "notes.txt").write_text("one\n")
    emacs = open_emacs("notes.txt")
    emacs.command("sould-manual")
    emacs.screen.wait("sould for Emacs", "Setting up", "Inbox")
