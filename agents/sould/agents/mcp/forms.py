"""The form of an MCP server: its fields, cleaned, and whether an answer fits them.

What is shown and checked is rebuilt from the words MCP has for forms, so that nothing else of a server's schema goes
further: no reference is followed and nothing is fetched. An answer that does not fit is never made to.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue

from sould.agents.base.linearpattern import Pattern, compiled
from sould.agents.base.parsed import Parsed
from sould.agents.mcp.formats import FORMATS
from sould.agents.mcp.naming import cleaned
from sould.agents.permissions.asking import shown_words
from sould.agents.wire.requests import ServerForm

MOST_FIELDS: Final = 20
MOST_CHOICES: Final = 200
LONGEST_TEXT: Final = 1000
LARGEST_PATTERN: Final = 1024 * 1024
"""Bytes that a server's pattern may take, compiled and looking."""
LARGEST_NUMBER: Final = 2**53
"""Beyond it not every JSON reader has the same number."""
YES, NO = "Yes", "No"

Content: TypeAlias = dict[str, JsonValue]

_FORMATS = {"email": "an e-mail address", "uri": "an address with its scheme", "date": "a date such as 2026-11-22"}
_FORMATS["date-time"] = "a time such as 2026-11-22T10:00:00Z"
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|.)", re.DOTALL)
_TRUE, _FALSE = ("yes", "y", "true", "on"), ("no", "n", "false", "off")


def _short(text: object) -> object:
    return shown_words(cleaned(text)[:LONGEST_TEXT]) if isinstance(text, str) else text


Shown: TypeAlias = Annotated[str, BeforeValidator(_short)]


class _Choice(Parsed):
    model_config = ConfigDict(extra="ignore", strict=True)

    const: str
    title: Shown = ""
    description: Shown | None = None


class _Items(Parsed):
    model_config = ConfigDict(extra="ignore")

    enum: list[str] | None = Field(None, max_length=MOST_CHOICES)
    any_of: list[_Choice] | None = Field(None, alias="anyOf", max_length=MOST_CHOICES)
    one_of: list[_Choice] | None = Field(None, alias="oneOf", max_length=MOST_CHOICES)

    @property
    def choices(self) -> list[_Choice]:
        return self.one_of or self.any_of or [_Choice(const=value) for value in self.enum or ()]


class _Field(_Items):
    """One field as MCP writes it; what else a server says of it is dropped."""

    type: Literal["string", "number", "integer", "boolean", "array"] = "string"
    title: Shown = ""
    description: Shown | None = None
    default: JsonValue = None
    enum_names: list[str] = Field(default_factory=list[str], alias="enumNames")
    items: _Items = Field(default_factory=lambda: _Items.model_validate({}))
    min_length: int | None = Field(None, alias="minLength", ge=0)
    max_length: int | None = Field(None, alias="maxLength", ge=0)
    pattern: str | None = Field(None, max_length=LONGEST_TEXT)
    format: str | None = None
    minimum: float | int | None = None
    maximum: float | int | None = None
    min_items: int | None = Field(None, alias="minItems", ge=0)
    max_items: int | None = Field(None, alias="maxItems", ge=0)

    def schema_of(self, name: str) -> dict[str, JsonValue]:
        """The field, rebuilt. Raises ValueError for a list without choices, and for a pattern that is none."""
        head: dict[str, JsonValue] = {"type": self.type, "title": self.title or cleaned(name)[:LONGEST_TEXT]}
        body = {"description": self.description, "default": self.default}
        named = self.model_dump(by_alias=True, include=_LIMITS[self.type])
        shown: dict[str, JsonValue] = head | {key: value for key, value in (body | named).items() if value is not None}
        if self.format in _FORMATS and self.type == "string":
            shown["format"] = self.format
        if "pattern" in shown:
            _compiled(str(self.pattern))
        if self.type == "array":
            if not self.items.choices:
                raise ValueError(name)
            shown["items"] = {"anyOf": _titled(self.items.choices, ())}
        if self.type == "string" and self.choices:
            shown["oneOf"] = _titled(self.choices, self.enum_names)
        return shown


_LIMITS: Final = {
    "string": {"min_length", "max_length", "pattern"},
    "number": {"minimum", "maximum"},
    "integer": {"minimum", "maximum"},
    "boolean": set[str](),
    "array": {"min_items", "max_items"},
}


def _titled(choices: Sequence[_Choice], names: Sequence[str]) -> list[JsonValue]:
    titled = [
        choice.model_copy(update={"title": choice.title or cleaned(names[at] if at < len(names) else choice.const)})
        for at, choice in enumerate(choices)
    ]
    return [choice.model_dump(exclude_none=True) for choice in titled]


def read_form(server: str, message: str, warning: str, schema: Mapping[str, Any] | None, url: str) -> ServerForm | None:
    """The form as it is put to the user; None for one that cannot be shown or checked."""
    given = cast("object", (schema or {}).get("properties") or {})
    if not isinstance(given, dict) or len(cast("dict[str, Any]", given)) > MOST_FIELDS:
        return None
    try:
        fields = {name: _Field.model_validate(each) for name, each in cast("dict[str, Any]", given).items()}
        properties = {name: field.schema_of(name) for name, field in fields.items()}
    except ValueError:  # pydantic's is one
        return None
    wanted = cast("list[object]", (schema or {}).get("required") or [])
    required = tuple(name for name in properties if name in wanted)
    form = ServerForm(
        server=server, message=message, warning=warning, properties=properties, required=required, url=url
    )
    return _with_fitting_defaults(form)


def _with_fitting_defaults(form: ServerForm) -> ServerForm:
    unfit = {name for name, field in form.properties.items() if "default" in field and _unfit(form, name)}
    kept = {
        name: {key: value for key, value in field.items() if key != "default" or name not in unfit}
        for name, field in form.properties.items()
    }
    return form.model_copy(update={"properties": kept})


def _unfit(form: ServerForm, name: str) -> bool:
    return bool(problem(form.model_copy(update={"required": ()}), {name: form.properties[name]["default"]}))


# --- answers ----------------------------------------------------------------------------------------------------------


def choices(field: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """What can be chosen: label to value; empty for a field that takes any answer. Two values have two labels."""
    if field.get("type") == "boolean":
        return {YES: True, NO: False}
    items = cast("Mapping[str, Any]", field.get("items") or {})
    listed = cast("list[dict[str, str]]", items.get("anyOf") or field.get("oneOf") or [])
    found: dict[str, JsonValue] = {}
    for choice in listed:
        label = choice["title"] if choice["title"] not in found else f"{choice['title']} ({choice['const']})"
        found[label] = choice["const"]
    return found


def value_of(field: Mapping[str, JsonValue], text: str) -> JsonValue:
    """What was typed or chosen, as the field's type; the text itself where it is no such thing, and does not fit then."""
    known = choices(field)
    if field.get("type") == "array":
        return [known.get(label, label) for label in (part.strip() for part in text.split(", ")) if label]
    if field.get("type") == "boolean":
        word = text.strip().casefold()
        return True if word in _TRUE else False if word in _FALSE else text
    if known:
        return known.get(text, text)
    return _number(text, whole=field.get("type") == "integer") if field.get("type") in ("integer", "number") else text


def _number(text: str, *, whole: bool) -> int | float | str:
    try:
        number = int(text)
    except ValueError:
        number = None
    try:
        found = number if number is not None or whole else float(text)
    except ValueError:
        return text
    return found if found is not None and abs(found) <= LARGEST_NUMBER else text  # which NaN is not, either


def text_of(field: Mapping[str, JsonValue], value: JsonValue) -> str:
    """The value as people read and type it."""
    if isinstance(value, list):
        return ", ".join(text_of(field, each) for each in value)
    labels = {repr(known): label for label, known in choices(field).items()}
    return labels.get(repr(value)) or str(value)


def typed(form: ServerForm, content: Mapping[str, JsonValue]) -> Content:
    """The content without what is in no field, texts of clients that know no types as the fields' types."""
    return {
        name: _typed(field, content[name]) for name, field in form.properties.items() if content.get(name) is not None
    }


def _typed(field: Mapping[str, JsonValue], value: JsonValue) -> JsonValue:
    if isinstance(value, str) and not (field.get("type") == "string" and value in choices(field).values()):
        return value_of(field, value)
    whole = field.get("type") == "integer" and isinstance(value, float) and value.is_integer()
    return int(value) if whole and isinstance(value, float) else value


def problem(form: ServerForm, content: Content) -> str:
    """Why the content does not fit the form, as sentences; "" when it fits."""
    for name in form.required:
        if name not in content:
            return f"{_title(form, name)} is required."
    found: dict[str, str] = {}
    for error in _validator(form).iter_errors(content):
        name = str(error.path[0]) if error.path else ""
        if name in form.properties:
            found.setdefault(name, f"{_title(form, name)}: {_why(form.properties[name], error)}.")
    return " ".join(found.values())


def _title(form: ServerForm, name: str) -> str:
    return str(form.properties[name]["title"])


def _why(field: Mapping[str, JsonValue], error: Any) -> str:
    """The end of a sentence, without what was entered: it may be long, and is on the screen."""
    name: str = error.validator
    match name:
        case "format":
            return f"this is not {_FORMATS.get(str(field.get('format')), 'right')}"
        case "type":
            return f"this is not {_TYPES[str(field['type'])]}"
        case "oneOf" | "anyOf" | "enum":
            return f"this is not one of {', '.join(choices(field))}"[:LONGEST_TEXT]
        case "pattern":
            return f"this does not match {field.get('pattern')}"
        case _:
            return _BOUNDS.get(name, "this is not valid").format(field.get(name))


_TYPES = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "yes or no",
    "array": "a list of choices",
}
_BOUNDS = {
    "minLength": "it takes at least {} characters",
    "maxLength": "it takes at most {} characters",
    "minimum": "it is at least {}",
    "maximum": "it is at most {}",
    "minItems": "choose at least {}",
    "maxItems": "choose at most {}",
}


def _validator(form: ServerForm) -> Any:
    from jsonschema import Draft202012Validator, FormatChecker, validators  # noqa: PLC0415 -- 7 MB, when a form is asked

    formats = FormatChecker(())
    for name, fits in FORMATS.items():
        formats.checks(name)(partial(_has_format, fits))
    checked = cast("Any", validators).extend(Draft202012Validator, {"pattern": _unmatched})  # it has no types
    return checked({"type": "object", "properties": form.properties}, format_checker=formats)


def _has_format(fits: Callable[[str], bool], value: object) -> bool:
    return not isinstance(value, str) or fits(value)


def _unmatched(_validator: object, pattern: str, value: object, _schema: object) -> Iterator[Exception]:
    """The keyword `pattern`. The library's own takes exponential time for some patterns."""
    from jsonschema import ValidationError  # noqa: PLC0415 -- as above

    if isinstance(value, str) and _compiled(pattern).search(value.encode(errors="replace")) is None:
        yield ValidationError("")


def _compiled(pattern: str) -> Pattern:
    r"""A server's pattern: JavaScript's, whose `\u00e9` is `\x{00e9}`. Raises ValueError for one that is too large or none."""
    return compiled(_ESCAPE.sub(lambda found: rf"\x{{{found[1]}}}" if found[1] else found[0], pattern), LARGEST_PATTERN)
