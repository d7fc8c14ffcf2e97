"""Parameters that the other side sends, parsed once at the edge and read leniently. Knows no method.

A broken optional field counts as absent, a broken item of a list is dropped; a broken required field is an error.
Nothing here is built before it is first used.
"""

import os
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticOmit, PydanticUseDefault

from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.base.text import faulty

T = TypeVar("T")


def _or_default(value: Any, parse: ValidatorFunctionWrapHandler) -> Any:
    try:
        return parse(value)
    except ValidationError:
        raise PydanticUseDefault from None


def _or_dropped(value: Any, parse: ValidatorFunctionWrapHandler) -> Any:
    try:
        return parse(value)
    except ValidationError:
        raise PydanticOmit from None


Lenient: TypeAlias = Annotated[T, WrapValidator(_or_default)]
"""An optional field: anything that does not fit is the field's default."""
Items: TypeAlias = Annotated[list[Annotated[T, WrapValidator(_or_dropped)]], WrapValidator(_or_default)]
"""An optional list: items that do not fit are dropped."""
Json: TypeAlias = dict[str, Any]


class Inbound(BaseModel):
    """Base: camelCase on the wire, unknown fields ignored, frozen. `_meta` is apart in `meta`, never among the parameters."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        validate_by_name=False,
        defer_build=True,
        hide_input_in_errors=True,  # errors are logged, what people answer is not
    )

    meta: Lenient[Json] = Field(default_factory=dict, alias="_meta")


ParamsT = TypeVar("ParamsT", bound=Inbound)


def parsed(params: type[ParamsT], raw: Json) -> ParamsT:
    """The parameters. Raises RpcError, naming the field."""
    try:
        return params.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        data = {"kind": "invalid_params", "field": field}
        raise RpcError(INVALID_PARAMS, faulty(field or "params", first), data) from error


def absolute(path: str, field: str) -> Path:
    """A directory or file that the other side names.

    Raises:
        RpcError: it is not absolute.
    """
    if not os.path.isabs(path) or "\0" in path:
        sentence = f"{field} must be an absolute path, not {path[:200]!r}."
        raise RpcError(INVALID_PARAMS, sentence, {"kind": "invalid_params", "field": field})
    return Path(path)
