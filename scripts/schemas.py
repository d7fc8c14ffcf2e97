"""Writes the JSON Schemas of everything below `_sould/review` to docs/schemas/review: `make schemas`.

They are made of the types that the daemon reads and answers with, so that neither can say what the other does not. With `check`
nothing is written; what is not current is named.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

import msgspec
from pydantic import BaseModel

from sould.agents.reviewclients import params, shapes

FOLDER: Final = Path(__file__).parents[1] / "docs" / "schemas" / "review"
PREFIX: Final = "_sould/review/"

REQUESTS: Final[dict[str, tuple[type[BaseModel], type[shapes.Shape]]]] = {
    "list": (params.ListReviewParams, shapes.ReviewList),
    "subscribe": (params.ProjectParams, shapes.ReviewList),
    "unsubscribe": (params.ProjectParams, shapes.Nothing),
    "keep": (params.DecisionParams, shapes.ReviewOutcome),
    "reject": (params.DecisionParams, shapes.ReviewOutcome),
    "undo": (params.UndoParams, shapes.ReviewOutcome),
    "base": (params.FileParams, shapes.Base),
    "rejected": (params.RejectedParams, shapes.Rejected),
    "comment": (params.CommentParams, shapes.Commented),
    "comments/send": (params.SendCommentsParams, shapes.SentComments),
    "report": (params.ReportParams, shapes.Reported),
}
"""Of clients."""
NOTIFICATIONS: Final[dict[str, type[shapes.Shape]]] = {"changed": shapes.ReviewChanged, "forgotten": shapes.Nothing}
"""Of sould."""


def generated() -> dict[str, str]:
    """Every file by name."""
    made: dict[str, Any] = {}
    for name, (asked, answered) in REQUESTS.items():
        made[f"{name}.params"] = _of_model(asked)
        made[f"{name}.result"] = _of_shape(answered)
    for name, told in NOTIFICATIONS.items():
        made[f"{name}.params"] = _of_shape(told)
    made["write.params"], made["write.result"] = _of_shape(shapes.Write), _of_model(params.WriteAnswer)
    return {
        f"{name.replace('/', '.')}.json": json.dumps(_named(name, schema), indent=2, ensure_ascii=False) + "\n"
        for name, schema in made.items()
    }


def _named(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    method, _, what = name.rpartition(".")
    title = f"{PREFIX}{method}: {'parameters' if what == 'params' else 'result'}"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}


def _of_model(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(by_alias=True)


def _of_shape(shape: type[shapes.Shape]) -> dict[str, Any]:
    (schema,), definitions = msgspec.json.schema_components((shape,), ref_template="#/$defs/{name}")
    return {**schema, "$defs": definitions}


def main(argument: str = "") -> int:
    """Write them, or say which are not current."""
    wanted = generated()
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    different = sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))
    if argument == "check":
        for name in different:
            print(f"{name} is not current: run `make schemas`")
        return 1 if different else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in different:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
