"""Which texts have the formats of forms: as RFCs 3339, 3986 and 5321 say, and as another implementation judges."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sould.agents.mcp.formats import FORMATS
from soultest.luck import examples

GOOD = {
    "email": [
        *("a@b", "joe.bloggs@example.com", "te~st@example.com", "ada+tag@example.org", "a@1.2.3.4", "_@b"),
        *('"joe bloggs"@example.com', '"joe..bloggs"@example.com', '"joe@bloggs"@example.com', r'"a\"b"@example.com'),
        *("joe@[127.0.0.1]", "joe@[IPv6:::1]", "x" * 64 + "@b.example", "a@" + "b" * 63 + ".example"),
    ],
    "uri": [
        *("http://a", "a:b", "a:", "mailto:x@y", "urn:isbn:1", "a1+-.:b", "http:///x", "file:///x", "http://", "a:/b"),
        *(
            "ldap://[2001:db8::7]/c?o?o",
            "http://[v1.a]/",
            "http://e:",
            "http://e:99999",
            "http://u:p@h/",
            "http://e?q#f",
        ),
        *("http://e/%C3%A9?a=/b?#c/?", "http://u@e:80", "http://e//b"),
    ],
    "date": ["2026-11-22", "0000-01-01", "0000-02-29", "0001-01-01", "9999-12-31", "2024-02-29"],
    "date-time": [
        *("2026-11-22T10:00:00Z", "2026-11-22t10:00:00z", "2026-11-22T10:00:00.123456789012Z", "0000-01-01T00:00:00Z"),
        *("2026-11-22T10:00:00+23:59", "2026-11-22T10:00:00-00:00", "0001-01-01T00:00:00+23:59"),
        *(
            "1998-12-31T23:59:60Z",
            "1990-12-31T15:59:60.1-08:00",
            "0001-01-01T22:59:60+23:00",
            "2016-12-31T23:29:60-00:30",
        ),
    ],
}
BAD = {
    "email": [
        *("", "2962", "a@", "@b", " a@b", "a@b\n", "a@b, c@d", "W <w@r>", ".test@example.com", "test.@example.com"),
        *("te..st@example.com", "joe@invalid=domain.com", "a@-b.com", "a@b-.com", "a@b..c", "a@b.c.", "a@b_c.de"),
        *("joe@[127.0.0.300]", "a@[IPv6:zz]", "a@[IPv6:fe80::1%1]", "a@[x:y]", "a@[]", "é@example.com", "a@é.com"),
        *("x" * 65 + "@b.example", "a@" + "b" * 64 + ".example", "a@" + ".".join(["b" * 60] * 5), '"a"b"@c', '"a\\"@c'),
    ],
    "uri": [
        *(
            "",
            "//a",
            "/a",
            "a",
            ":b",
            "1a:b",
            "bar,baz:foo",
            ":// x",
            "http:// x",
            "http://a b",
            "http://e/ ",
            "http://e\n",
        ),
        *(
            "http://e/\\",
            "http://e/<>",
            "http://e/{}",
            "http://e/^",
            "http://e/`",
            "http://e/|",
            'http://e/"',
            "http://e/é",
        ),
        *(
            "http://e:abc",
            "http://e/%zz",
            "http://e/%2",
            "http://é.example",
            "http://[::1",
            "https://[@e.org/t",
            "http://[1.2.3.4]",
        ),
        *(
            "http://e/#a#b",
            "http://e/?[x]",
            "http://e/[x]",
            "http://[::1%25eth0]/",
            "http://[]/",
            "http://[::1]x/",
            "http://a@b@c",
        ),
    ],
    "date": [
        *(
            "",
            "2026-02-30",
            "2023-02-29",
            "20261122",
            "2026-W01-1",
            "2026-326",
            "2026-1-1",
            "2026-11-22 ",
            "2026-11-22\n",
        ),
        *(
            "+2026-11-22",
            "10000-01-01",
            "2026-00-01",
            "2026-13-01",
            "2026-11-00",
            "1963-06-1\u09ea",
            "2026-11-22T00:00:00Z",
        ),
    ],
    "date-time": [
        *(
            "",
            "2026-11-22",
            "10:00:00Z",
            "2026-11-22 10:00:00Z",
            "2026-11-22T10:00:00",
            "2026-11-22T10:00Z",
            "20261122T100000Z",
        ),
        *(
            "2026-11-22T24:00:00Z",
            "2026-11-22T10:60:00Z",
            "2026-11-22T10:00:61Z",
            "2026-02-30T10:00:00Z",
            "2026-11-22T10:00:00.Z",
        ),
        *(
            "2026-11-22T10:00:00,1Z",
            "2026-11-22T10:00:00+24:00",
            "2026-11-22T10:00:00+10:60",
            "2026-11-22T10:00:00+0100",
        ),
        *(
            "2026-11-22T10:00:00+01",
            "2026-11-22T10:00:00 +01:00",
            "2026-11-22T10:00:00Z\n",
            "2026-11-22T10:00:\u09ea0Z",
        ),
        *("1998-12-31T22:59:60Z", "1998-12-31T23:58:60Z", "9999-12-31T23:59:60-23:00", "2016-12-31T23:29:60+00:30"),
    ],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GOOD.items() for text in texts])
def test_a_text_of_the_format_fits(name: str, text: str) -> None:
    assert FORMATS[name](text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_a_text_that_is_nearly_of_the_format_does_not_fit(name: str, text: str) -> None:
    assert not FORMATS[name](text)


@given(
    st.datetimes(timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))),
)
@settings(max_examples=examples(100), deadline=None)
def test_every_moment_and_its_day_fit(moment: datetime) -> None:
    assert FORMATS["date-time"](moment.isoformat())
    assert FORMATS["date"](moment.date().isoformat())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("email", "a." * 200_000 + "@"),
        ("email", "a@" + "b-" * 200_000),
        ("email", '"' + "\\a" * 200_000),
        ("uri", "a://" + "b" * 400_000 + "\n"),
        ("uri", "a://[" + ":" * 400_000 + "]"),
        ("uri", "a:" + "%20" * 200_000 + "%"),
        ("date-time", "2026-11-22T10:00:00." + "0" * 400_000),
    ],
)
def test_a_long_text_that_does_not_fit_is_judged_as_well(name: str, text: str) -> None:
    assert not FORMATS[name](text)
