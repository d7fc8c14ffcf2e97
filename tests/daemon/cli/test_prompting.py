"""What a question at the terminal shows: the end of it as well as the beginning."""

from sould.daemon.cli.prompting import DETAILS, Permission


def explained(text: str) -> list[str]:
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    return Permission.model_validate({"toolCall": {"title": "a command", "content": content}}).explanation


def test_the_end_of_a_long_line_and_of_many_lines_is_shown() -> None:
    assert explained("echo " + "a" * 1900 + "; rm -rf x")[-1].endswith("; rm -rf x")
    many = explained("\n".join([*(f": {number}" for number in range(100)), "rm -rf x"]))
    assert (len(many), many[-1]) == (1 + DETAILS, "rm -rf x")
    assert "… 72 lines …" in many
