"""Texts in other encodings than UTF-8: which they are in, that no byte is lost, and what cannot be told."""

from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from sould.agents.base.textencoding import UTF_8, Encoding, NoBytesError, NoTextError, decoded, encoded, may_be_shown_as
from soultest.luck import examples

CHINESE: Final = "// 读取配置文件\nint main() { return 1; }\n// 如果文件不存在则创建\n"
JAPANESE: Final = "// 設定ファイルを読み込む\nint x = 1;\n// エラーが発生しました\n"
FRENCH: Final = "/* déjà vu, ça coûte */\nint x = 1;\n/* été, noël, fenêtre */\n"


@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [
        (CHINESE, "gbk", "GBK"),
        ("# 讀取設定檔\n# 如果檔案不存在則建立\n", "big5", "Big5"),
        (JAPANESE, "cp932", "Shift_JIS"),
        (JAPANESE, "euc_jp", "EUC-JP"),
        ("# 설정 파일을 읽는다\n# 오류가 발생했습니다\n", "euc_kr", "EUC-KR"),
        ("# Проверка входных данных\n# Ошибка при чтении файла\n", "cp1251", "Windows-1251"),
        ("# Проверка входных данных\n# Ошибка при чтении файла\n", "koi8-r", "KOI8-R"),
        ("# Sprawdź, czy plik istnieje\n# Błąd połączenia z bazą danych\n", "cp1250", "Windows-1250"),
        (FRENCH, "latin-1", "Windows-1252"),
        ("# Sprawdź, czy książka jest świeża\n# Błąd połączenia\n", "iso8859-2", "ISO-8859-2"),
        ("# Άνοιξε το αρχείο\n# Έλεγχος της βάσης δεδομένων\n", "iso8859-7", "ISO-8859-7"),
        ("# le bœuf déjà cuit à l'hôtel\n# une sœur fière, été\n", "iso8859-15", "ISO-8859-15"),
        ('<?xml version="1.0" encoding="ISO-8859-2"?>\n<a>źle śpiewa</a>\n', "iso8859-2", "ISO-8859-2"),
        ("#!/usr/bin/env python\n# -*- coding: iso-8859-15 -*-\nprice = '12 €'\n", "iso8859-15", "ISO-8859-15"),
        ('<html><head><meta charset="shift_jis">\n<title>東京</title>\n', "cp932", "Shift_JIS"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">naïve\n', "cp1252", "Windows-1252"),
        ('@charset "gb2312";\na::after { content: "中"; }\n', "gbk", "GBK"),
        ("\ufeffname = café\r\nx = 1\r\n", "utf-16-le", "UTF-16LE"),
        ("\ufeff" + CHINESE, "utf-16-be", "UTF-16BE"),
        ("name = café\r\nx = 1\r\n", "utf-16-le", "UTF-16LE"),
        ("x = 1\ny = 2\n", "utf-16-be", "UTF-16BE"),
        ("\ufeffx = 1\n", "utf-32-le", "UTF-32LE"),
    ],
)
def test_a_text_is_read_in_its_encoding_and_an_edit_changes_no_other_byte(text: str, codec: str, name: str) -> None:
    data = text.encode(codec)
    read = decoded(data)
    assert (read.text, read.encoding.name, read.encoding.certain) == (text, name, True)
    assert encoded(text.replace("x", "yy"), read.encoding, text) == text.replace("x", "yy").encode(codec)


def test_of_a_large_file_the_lines_beyond_ascii_tell_the_encoding() -> None:
    text = "int a;\n" * 50_000 + CHINESE
    read = decoded(text.encode("gbk"))
    assert (read.text, read.encoding.name) == (text, "GBK")


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b",
        b"abc\0",
        b"\x01\0\x02\0\x03\0\x04\0",
        b"\xff\xfe\0\xd8",
        b"\x89PNG\r\n\x1a\nabcd",
        b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
        bytes(range(1, 256)),
    ],
)
def test_what_is_no_text_is_not_taken_for_one(data: bytes) -> None:
    with pytest.raises(NoTextError, match="is not a text file"):
        decoded(data)


def test_a_damaged_utf_8_text_is_named_with_the_place() -> None:
    data = FRENCH.encode().replace(b"int x = 1;", b"int \xff = 1;")
    with pytest.raises(NoTextError, match="UTF-8 text but for 1 byte, the first in line 2"):
        decoded(data)


@pytest.mark.parametrize("name", ["rot13", "unicode_escape", "utf-7", "nonsense", "cp65001", "utf-8", "utf-16-le"])
def test_what_a_file_says_falsely_of_its_encoding_counts_for_nothing(name: str) -> None:
    text = f"# -*- coding: {name} -*-\n{CHINESE}"
    assert decoded(text.encode("gbk")).text == text


def test_signs_that_another_encoding_has_elsewhere_are_read_but_not_added_to() -> None:
    text = "/* déjà vu, ça coûte 3 ¤ */\n/* été, noël, fenêtre */\n"
    read = decoded(text.encode("cp1252"))
    assert (read.text, read.encoding.certain) == (text, False)


def test_what_cannot_be_told_is_read_as_what_is_likely_and_only_ascii_is_added() -> None:
    read = decoded(b"caf\xe9\n")
    assert (read.text, read.encoding.name, read.encoding.certain) == ("café\n", "Windows-1252", False)
    assert encoded("# café, again\n", read.encoding, read.text) == b"# caf\xe9, again\n"
    with pytest.raises(NoBytesError, match=r"Windows-1252 is likely.*U\+00FC.*iconv -f Windows-1252 -t UTF-8"):
        encoded("cafü\n", read.encoding, read.text)


def test_a_character_that_an_encoding_lacks_is_named_with_the_way_on() -> None:
    read = decoded(FRENCH.encode("latin-1"))
    with pytest.raises(NoBytesError, match=r"in Windows-1252, which has no '中' \(U\+4E2D\).*iconv"):
        encoded(FRENCH + "中", read.encoding, FRENCH)
    with pytest.raises(NoBytesError, match=r"U\+D800"):
        encoded("\ud800", UTF_8, "")


@pytest.mark.parametrize(
    ("data", "text", "is_shown"),
    [
        (CHINESE.encode("gbk"), CHINESE, True),
        (CHINESE.encode("gbk"), CHINESE.encode("gbk").decode(errors="replace"), True),
        (CHINESE.encode("gbk"), CHINESE.encode("gbk").decode("latin-1"), True),
        (CHINESE.encode("gbk"), CHINESE.replace("1", "2"), False),
        (CHINESE.encode(), CHINESE, True),
        (CHINESE.encode(), CHINESE.encode().decode("latin-1"), False),
        (("\ufeff" + FRENCH).encode("utf-16-le"), FRENCH, True),
        (b"", "", True),
    ],
)
def test_what_editors_may_show_of_a_file_is_known(data: bytes, text: str, is_shown: bool) -> None:
    assert may_be_shown_as(data, text) == is_shown


def test_a_file_stays_in_the_encoding_it_was_read_in_while_it_can_be() -> None:
    earlier = Encoding("GBK", "gbk")
    assert decoded("// 中".encode("gbk"), earlier).encoding == earlier
    assert decoded("// 中".encode(), earlier).encoding == UTF_8
    assert decoded(JAPANESE.encode("euc_jp"), Encoding("Big5", "big5")).encoding.name == "EUC-JP"


@pytest.mark.long
@given(strategies.binary(max_size=200))
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_read_gives_the_same_bytes_again(data: bytes) -> None:
    try:
        read = decoded(data)
    except NoTextError:
        return
    assert encoded(read.text, read.encoding, read.text) == data
