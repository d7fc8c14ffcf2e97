"""A secret's other names are found where secrets are, and again when a file gets a name later."""

from pathlib import Path

from sould.agents.permissions.hardlinks import HardLinks
from sould.agents.permissions.policycontext import PolicyContext


def test_a_hard_link_is_known_by_the_names_of_the_secret(tmp_path: Path) -> None:
    project, home, more = (tmp_path / name for name in ("project", "home", "more"))
    for path in (project / "sub" / ".env", home / ".ssh" / "id_rsa", home / ".netrc", more / "server.pem"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    additional: list[Path] = []
    links = HardLinks(PolicyContext(root=project, additional=additional, home=home))
    one, two, three, four = (project / name for name in ("1.txt", "2.txt", "3.txt", "4.txt"))
    one.write_text("x")
    assert links.other_names(one) == ()
    two.hardlink_to(project / "sub" / ".env")
    assert links.other_names(two) == (project / "sub" / ".env",)
    three.hardlink_to(home / ".ssh" / "id_rsa")
    assert links.other_names(three) == (home / ".ssh" / "id_rsa",)
    assert links.other_names(home / ".ssh" / "id_rsa") == ()
    four.hardlink_to(more / "server.pem")
    assert links.other_names(four) == ()
    additional.append(more)
    assert links.other_names(four) == (more / "server.pem",)


def test_a_link_to_what_is_no_secret_has_no_names_that_matter(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.txt").hardlink_to(tmp_path / "a.txt")
    (tmp_path / "c").symlink_to("a.txt")
    links = HardLinks(PolicyContext(root=tmp_path, home=tmp_path))
    assert [links.other_names(tmp_path / name) for name in ("a.txt", "b.txt", "c", "missing")] == [()] * 4
