"""Files that programs obey by themselves: by their names, and what git takes for a repository."""

import json
import os
import subprocess
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.workspace import ResolvedPath
from sould.agents.permissions import protected
from sould.agents.permissions.policy import MODES, EditFile, Mode, RunCommand, decide
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.rules import Rule, Rules
from soultest.policy import HOME, NOWHERE, ROOT, place_of

EVERYTHING = Rules((Rule("allow", "edit"), Rule("allow", "shell"), Rule("allow", "edit", cwd="workspace")))

OBEYED = {
    "other agents": """.claude/settings.local.json .claude/hooks/x.sh CLAUDE.local.md .cursor/hooks.json .codex/config.toml
        .gemini/settings.json .qwen/settings.json QWEN.md .opencode/plugin/x.ts OpenCode.md .roo/mcp.json .roomodes .roorules-code
        .kiro/hooks/x.json .kiro/steering/x.md .continue/config.yaml .aider.conf.yml .aiderignore .github/copilot-instructions.md
        .github/instructions/x.instructions.md .github/prompts/x.prompt.md .github/agents/x.md .github/hooks/x.json .clinerules/x.md
        .goosehints .goosehints.local .goose/config.yaml .junie/guidelines.md .aiassistant/rules/x.md .amazonq/rules/x.md .rules
        AGENTS.override.md AGENT.md .agent/rules/x.md crush.json .crush.json CRUSH.md .vibe/config.toml .augment/rules/x.md
        .augment-guidelines .trae/rules/x.md WARP.md .factory/mcp.json .openhands/setup.sh .idx/dev.nix .replit replit.nix .pi/x
        .amp/settings.json .iflow/settings.json .kilocode/mcp.json .tabnine/x .ruler/AGENTS.md gptme.toml .windsurf/mcp_config.json
        .coderabbit.yaml .serena/project.yml firebender.json conductor.json sub/deep/.kiro/x""",
    "interpreters": """.Rprofile .Renviron .RData renv/activate.R .lintr .ghci hie.yaml .irbrc .pryrc .byebugrc .rspec .bundle/config
        .rvmrc .perldb .proverc .psysh.php .user.ini .iex.exs .erlang .ocamlinit .merlin .sbclrc .csirc .octaverc startup.m profile.do
        autoexec.sas .gnuplot .latexmkrc latexmkrc .pdbrc .pdbrc.py ipython_config.py jupyter_server_config.py pyvenv.cfg
        usercustomize.py x.pth .corepack.env .htaccess profiles.clj .gdbinit .gdbinit.local x-gdb.py .lldbinit .valgrindrc""",
    "builds": """.mvn/jvm.config .mvn/extensions.xml .mvn/wrapper/maven-wrapper.properties gradle/wrapper/gradle-wrapper.properties
        .sbtopts .jvmopts .bsp/x.json .cargo/config rust-toolchain rust-toolchain.toml .npmrc .pnpmfile.mjs .yarn/plugins/x.cjs .bowerrc
        bunfig.toml uv.toml poetry.toml .condarc NuGet.Config Directory.Build.props .config/dotnet-tools.json .bazelrc ci.bazelrc
        .bazelversion .buckconfig pants.toml site_scons/site_init.py ansible.cfg .terraform/providers/x gbp.conf .ropeproject/config.py""",
    "editors and shells": """.vscode/tasks.json x.code-workspace .devcontainer/devcontainer.json devcontainer.json .devcontainer.json
        devfile.yaml .gitpod.yml .vs/tasks.vs.json .idea/runConfigurations/x.xml .run/x.run.xml .zed/tasks.json .helix/config.toml
        .nvim.lua .lvimrc .lazy.lua .exrc .vimrc _vimrc .dir-locals.el .emacs.desktop .project .settings/x.prefs .factorypath
        buildServer.json .ycm_extra_conf.py .luarc.json .clangd omnisharp.json .envrc .autoenv.zsh .shadowenv.d/x .tool-versions
        mise.toml mise.local.toml .config/mise/config.toml devbox.json .tmuxinator.yml""",
    "hooks and CI": """.husky/pre-commit .lintstagedrc.json lint-staged.config.mjs .overcommit.yml .git-hooks/x.rb .lefthook/x.sh
        prek.toml .hgsub .lfsconfig .arcconfig GIT~1/config .github/workflows/x.yml .github/dependabot.yml .gitlab-ci.yml
        .gitlab/ci/x.yml ci/test.gitlab-ci.yml .woodpecker.yml .woodpecker/x.yaml appveyor.yml .appveyor.yml .cirrus.yml .cirrus.star
        cloudbuild.yaml cloudbuild-prod.yml .drone.star Jenkinsfile.release azure-pipelines-1.yml .azuredevops/x.yml circle.yml
        buildspec.yml .semaphore/semaphore.yml .teamcity/settings.kts bamboo-specs/bamboo.yml bitrise.yml codemagic.yaml .tekton/x.yaml
        .zuul.yaml .taskcluster.yml .build.yml .builds/x.yml atlantis.yaml renovate.json5 .releaserc .goreleaser.yaml .readthedocs.yaml
        netlify.toml vercel.json .ebextensions/x.config""",
}
IN_HOME = """.bashrc .zshrc.d/x .config/fish/config.fish .local/bin/x .local/share/systemd/user/x .gitconfig .subversion/config
    .claude.json .m2/settings.xml .gradle/init.d/x.gradle .gradle/gradle.properties .cargo/env .R/Makevars .psqlrc .sqliterc .muttrc
    .forward .xprofile .pyenv/shims/x .nvm/nvm.sh .docker/cli-plugins/x Library/LaunchAgents/x.plist .ripgreprc .rpmmacros .doom.d/x"""
ORDINARY = [
    "README.md",
    "src/app.py",
    "HEAD",
    "one/HEAD",
    "two/config",
    "config/settings.json",
    "docs/rules.md",
    "rules.md",
    "docs/CLAUDE.txt",
    "CLAUDE.mdx",
    "src/hooks/useThing.ts",
    "hooks/pre-commit.md",
    "tasks.json",
    "settings.json",
    "three/objects/a.py",
    "four/refs/x.md",
    "data/mise.json",
    "mise.lock",
    "package.json",
    "pyproject.toml",
    "Cargo.toml",
    "Makefile",
    "CMakeLists.txt",
    "Dockerfile",
    "docker-compose.yml",
    "setup.py",
    "build.gradle",
    "pom.xml",
    "src/config.toml",
    "config.yaml",
    ".gitignore",
    ".dockerignore",
    ".prettierignore",
    ".nvmrc",
    ".python-version",
    "github/workflows/x.yml",
    ".github/ISSUE_TEMPLATE/bug.md",
    ".github/CODEOWNERS",
    "docs/agents.rst",
    "agent.py",
    "agents/main.py",
    "skills/x.md",
    "prompts/x.prompt.md",
    "gradle/libs.versions.toml",
    "src/venvs.py",
    "git/config",
    "profile.py",
    "startup.py",
    "vscode/tasks.json",
    "cursor.ts",
    "project.json",
    "bin/tool",
    ".config/x.toml",
    ".profile",
    ".bashrc.md",
    "ci/deploy.sh",
    "Rprofile.md",
    "ghci.hs",
    "mvn/x",
]
NAMES = [name for names in OBEYED.values() for name in names.split()]


def decided(path: str | Path, where: PolicyContext = NOWHERE, mode: Mode = "review") -> str:
    full = where.root / path
    found = ResolvedPath(full, inside=full.is_relative_to(where.root))
    return decide(EditFile(found, "modify"), EVERYTHING, "trusted", mode, where).decision


PATHS = """.git/hooks/pre-commit .git .GIT/config .gitmodules .gitattributes sub/.git/objects/info/alternates .hg/hgrc .jj/x
    .vscode/settings.json .VSCode/tasks.json .idea/x .zed/settings.json .cursor/mcp.json .nvim.lua .exrc .dir-locals.el
    a.code-workspace .editorconfig .sould/config.toml AGENTS.md sub/agents.md CLAUDE.md GEMINI.md .claude/x .kimi/x
    .kimi-code/x opencode.json opencode.jsonc .mcp.json mcp.json .cursorrules .github/copilot-instructions.md
    .github/workflows/ci.yml .GitHub/Workflows/ci.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile .husky/pre-push
    .pre-commit-config.yaml lefthook.yml .envrc .tool-versions mise.toml .npmrc .yarnrc.yml .pnp.cjs pip.conf
    .agents/skills/x/SKILL.md .helix/languages.toml .githooks/pre-push srv.git/hooks/update .cargo/config.toml .envrc.local
    .gitea/workflows/ci.yml .github/actions/a/action.yml .lefthook-local.yml .mise.local.toml .travis.yml .clinerules bunfig.toml
    tests/conftest.py sitecustomize.py a.pth .devcontainer/devcontainer.json tools/ls .git./config .g\u200cit/config
    /people/u/.bashrc /people/u/.config/x /people/u/.local/bin/x /people/u/.ssh/authorized_keys /people/u/.gitconfig /people/u/.netrc
    /people/u/.aws/config /people/u/.kube/config /people/u/.tmux.conf /people/u/.docker/config.json
    /etc/cron.d/x /people/u/Library/LaunchAgents/x.plist /usr/bin/x /state/sould/trust.json
    """
PROTECTED = PATHS.split()


@pytest.mark.parametrize("path", PROTECTED, ids=map(ascii, PROTECTED))
def test_a_protected_path_asks_in_every_mode_whatever_the_rules_allow(path: str) -> None:
    for mode in MODES[1:]:
        found = ResolvedPath(ROOT / path, inside=not path.startswith("/"))
        verdict = decide(EditFile(found, "modify"), EVERYTHING, "trusted", mode, NOWHERE)
        assert (verdict.decision, verdict.scope_offer) == ("ask", None)
        assert verdict.reason
    if not path.startswith(("/usr", "/etc", "tools")):
        for line in (f"cp a '{path}'", f"echo x > {path}", f"rm -rf {path}", f"chmod 777 {path}", f"dd of={path}"):
            assert decide(RunCommand(line, ROOT), EVERYTHING, "trusted", "full", NOWHERE).decision == "ask", line


@pytest.mark.parametrize("kind", OBEYED)
def test_a_file_that_a_program_obeys_is_asked_about_wherever_it_lies_and_however_it_is_spelt(kind: str) -> None:
    names = OBEYED[kind].split()
    assert [name for name in names if decided(name) == "allow"] == []
    assert [name for name in names if decided(f"sub/dir/{name}", mode="full") == "allow"] == []
    assert [name for name in names if decided(name.upper()) == "allow"] == []
    assert [name for name in names if decided(name.swapcase()) == "allow"] == []
    assert [name for name in names if decided(HOME / name) == "allow"] == []


def test_what_programs_obey_in_the_home_directory_is_asked_about_there_only() -> None:
    names = IN_HOME.split()
    assert [name for name in names if decided(HOME / name, mode="full") == "allow"] == []
    assert [name for name in names if decided(f"dotfiles/{name}") == "allow"] == names


@pytest.mark.parametrize(
    "line",
    [
        "echo x > {}",
        "echo x>>{}",
        "cat <<E >|{}\nx\nE",
        "make 2>{}",
        "cp a {}",
        "mv a './{}'",
        "ln -s a {}",
        "tee -a {} < a",
        "dd of={}",
        "sed -i s/a/b/ sub/{}",
        "install -m 644 a {}",
        "cd sub && printf x > ../{}",
        "python -c \"open('{}', 'w')\"",
        "python -c \"copy('a', '{}')\"",
        "curl -o {} https://example.org",
    ],
)
def test_a_command_that_names_a_file_that_a_program_obeys_is_asked_about(line: str) -> None:
    everywhere = [name for name in NAMES if name != ".lintr"]  # of linters' settings see below
    lines = [line.format(name) for name in everywhere]
    asked = [decide(RunCommand(each, ROOT), EVERYTHING, "trusted", "full", NOWHERE).decision for each in lines]
    assert [each for each, decision in zip(lines, asked, strict=True) if decision == "allow"] == []


def test_ordinary_names_are_not_asked_about() -> None:
    assert [name for name in ORDINARY if decided(name) != "allow"] == []
    assert [name for name in ORDINARY if decided(f"a/b/{name}", mode="full") != "allow"] == []
    for name in ORDINARY:
        assert decide(RunCommand(f"cp a {name}", ROOT), EVERYTHING, "trusted", "full", NOWHERE).decision == "allow", (
            name
        )


def test_everyday_commands_may_name_what_only_edits_are_asked_about() -> None:
    for name in ("eslint.config.js", "mypy.ini", ".golangci.yml", "node_modules/a/b.js", ".venv/bin/x", "tools/bazel"):
        assert decided(name, mode="full") == "ask"
        line = f"npx tool --config {name} src"
        assert decide(RunCommand(line, ROOT), EVERYTHING, "trusted", "full", NOWHERE).decision == "allow"


def test_the_question_names_the_program() -> None:
    found = ResolvedPath(ROOT / ".mvn/jvm.config", inside=True)
    verdict = decide(EditFile(found, "create"), Rules(), "trusted", "review", NOWHERE)
    assert verdict.reason == "/w/project/.mvn/jvm.config configures Maven or has it run things"


def test_each_program_has_a_source_and_each_name_is_there_once() -> None:
    groups = json.loads(Path(protected.__file__).with_name("obeyed.json").read_text())
    programs = list(chain.from_iterable(groups.values()))
    assert [program["program"] for program in programs if not program["source"]] == []
    for kind in ("names", "home"):
        names = [name.casefold() for program in programs for name in program.get(kind, ())]
        assert len(names) == len(set(names))
        assert all(not name.startswith("/") and "//" not in name for name in names)


# --- what git takes for a repository ----------------------------------------------------------------------------------------------


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


PARTS: tuple[str, ...] = (
    "HEAD",
    "config",
    "objects/x",
    "refs/x",
    "commondir",
    "hooks/pre-commit",
    "info/attributes",
    "index",
    "a",
    "b/c/d",
)


@st.composite
def writes(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A folder, and files that are written into it one after another."""
    folder = draw(st.sampled_from(("fixture", "lib/data", "deep/er/x")))
    return folder, list(draw(st.permutations(PARTS))[: draw(st.integers(1, len(PARTS)))])


def git_takes(folder: Path) -> bool:
    """What git itself says, once what it reads is of the right form."""
    if (folder / "HEAD").exists():
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
    if (folder / "commondir").exists():
        (folder / "commondir").write_text("../common\n")
        for name in ("objects", "refs"):
            (folder.parent / "common" / name).mkdir(parents=True, exist_ok=True)
    (folder / "config").unlink(missing_ok=True)
    variables = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    return not subprocess.run(("git", "rev-parse"), cwd=folder, env=variables, capture_output=True).returncode


@given(writes())
def test_a_file_is_asked_about_where_git_takes_its_folder_for_a_repository_once_it_is_tplace_of(
    drawn: tuple[str, list[str]],
) -> None:
    folder, names = drawn
    with TemporaryDirectory() as directory:
        root = Path(directory).resolve() / "p"
        root.mkdir()
        where = place_of(root)
        *before, last = names
        make(root / folder, *before)
        decision = decided(f"{folder}/{last}", where)
        make(root / folder, last)
        assert decision == ("ask" if git_takes(root / folder) else "allow")


@pytest.mark.parametrize("parts", [("HEAD", "objects/x", "refs/x"), ("HEAD", "commondir")])
def test_every_file_in_a_bare_repository_is_asked_about_whatever_it_is_called(
    parts: tuple[str, ...], tmp_path: Path
) -> None:
    make(tmp_path / "lib/fixture", *parts)
    where = place_of(tmp_path)
    for name in ("config", "config.worktree", "hooks/post-checkout", "objects/info/alternates", "head", "notes/deep/x"):
        assert decided(f"lib/fixture/{name}", where, "full") == "ask"
        line = f"cd lib && echo x > fixture/{name}"
        assert decide(RunCommand(line, tmp_path), EVERYTHING, "trusted", "full", where).decision == "ask"
    assert decided("lib/other/config", where) == "allow"
    assert decided("lib/config", where) == "allow"


def test_a_work_tree_in_a_bare_repository_is_a_project_like_any_other(tmp_path: Path) -> None:
    def git(*words: str, cwd: Path = tmp_path) -> None:
        subprocess.run(
            ("git", "-c", "user.name=a", "-c", "user.email=a@b", *words), cwd=cwd, check=True, capture_output=True
        )

    git("init", "-b", "main", "first")
    git("commit", "--allow-empty", "-m", "a", cwd=tmp_path / "first")
    git("clone", "--bare", "first", "all")
    git("worktree", "add", "work", "main", cwd=tmp_path / "all")
    where = place_of(tmp_path / "all/work")
    assert decided("src/a.py", where) == "allow"
    assert decided("HEAD", where) == "allow"
    assert decided(tmp_path / "all/worktrees/work/commondir", where, "full") == "ask"
    assert decided(tmp_path / "all/config", where, "full") == "ask"


def test_an_empty_folder_called_dot_git_hides_no_repository(tmp_path: Path) -> None:
    make(tmp_path / "x", "HEAD", "objects/x", "refs/x")
    (tmp_path / "x/.git").mkdir()
    assert decided("x/config", place_of(tmp_path)) == "ask"
