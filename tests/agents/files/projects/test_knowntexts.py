"""What a session knows of files, beside it on disk."""

from pathlib import Path

from sould.agents.files.projects.knowntexts import MOST, NAME, KnownText, KnownTexts


def test_the_last_word_about_a_file_counts_and_a_torn_line_is_passed_over(tmp_path: Path) -> None:
    known = KnownTexts(tmp_path)
    known.add([KnownText("", "/a", "1", 1.0), KnownText("", "/b", None, 1.0)])
    known.add([KnownText("", "/a", "2", 2.0)])
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'["", "/c", "to')
    assert [(each.path, each.text) for each in known.all()] == [("/b", None), ("/a", "2")]


def test_the_files_known_last_stay_when_there_are_too_many_and_there_is_room_for_more(tmp_path: Path) -> None:
    known = KnownTexts(tmp_path)
    text = "x" * (MOST // 40)
    for n in range(100):
        known.add([KnownText("", f"/{n}", text, float(n))])
        assert (tmp_path / NAME).stat().st_size <= MOST
    paths = [each.path for each in known.all()]
    assert paths == [f"/{n}" for n in range(100 - len(paths), 100)]
    assert len(paths) >= 20
