"""What a client's user is asked, and what the answers mean: permissions, and questions as buttons or as a form. Pure."""

from collections.abc import Collection
from typing import cast

from sould.acp.outbound import Json
from sould.acp.projection.calls import beside_buttons
from sould.acp.projection.titles import title
from sould.acp.projection.toolcalls import Call, permission_call, text_content
from sould.agents.permissions.actions import Scope
from sould.agents.permissions.scopes import Offered, is_command, offered, rejection
from sould.agents.wire.messages import ApprovalRequest, QuestionItem, QuestionRequest

OPTIONS: dict[str, Scope] = {
    "allow_once": "once",
    "allow_always": "session",
    "allow_always_also_changed": "session_also_changed",
    "allow_always_project": "project",
    "allow_always_everywhere": "always",
}
"""The ids of the first two are those of their kinds: avante knows a yes by nothing else."""
_IDS = {scope: option_id for option_id, scope in OPTIONS.items()}


def permission(session_id: str, call: Call, request: ApprovalRequest, *, lasting: bool = False) -> Json:
    """Params of `session/request_permission`, self-contained; unless `lasting`, one option of each kind, none beyond the session."""
    scopes = [each for each in offered(request) if lasting or each.scope in ("once", "session")]
    options = [*map(_option, scopes), {"optionId": "reject_once", "name": rejection(request), "kind": "reject_once"}]
    params: Json = {"sessionId": session_id, "toolCall": permission_call(call, request, scopes), "options": options}
    if own := _own(request):
        params["_meta"] = {"sould": own}
    return params


def _own(request: ApprovalRequest) -> Json:
    """What the protocol has no place for."""
    own: Json = {}
    if is_command(request):
        own["commandMayChange"] = True
    elif request.held is not None:
        own["output"] = True
    reason = request.description.partition("\n")[2].strip()
    if reason:
        own["reason"] = reason
    if request.in_every_mode:
        own["inEveryMode"] = True
    return own


def _option(each: Offered) -> Json:
    kind = "allow_once" if each.scope == "once" else "allow_always"
    return {"optionId": _IDS[each.scope], "name": each.label, "kind": kind}


# --- buttons ----------------------------------------------------------------------------------------------------------


def buttons(
    session_id: str, request: QuestionRequest, item: QuestionItem, chosen: Collection[int] | None = None
) -> Json:
    """Params of `session/request_permission` that ask one question of a client without forms.

    `chosen`: of a question with several answers, those given so far, which are not offered again.
    """
    options: list[Json] = [
        {"optionId": f"option_{number}", "name": _plain(option.label), "kind": "allow_once"}
        for number, option in enumerate(item.options)
        if not chosen or number not in chosen
    ]
    if chosen is not None:
        options.append({"optionId": "done", "name": "Done" if chosen else "None of these", "kind": "allow_once"})
    elif item.other_label:
        options.append({"optionId": "other", "name": item.other_label, "kind": "allow_once"})
    options.append({"optionId": "dismiss", "name": "Dismiss", "kind": "reject_once"})
    call: Json = {
        "toolCallId": request.tool_call_id,
        "title": title(item.question),
        "kind": "think",
        "status": "pending",
    }
    if body := beside_buttons(item):
        call["content"] = [text_content(body)]
    return {"sessionId": session_id, "toolCall": call, "options": options}


def _plain(label: str) -> str:
    """A label as the name of an option: no client shows Markdown there."""
    return label.replace("`", "")


def pressed(option_id: str, item: QuestionItem) -> int | None:
    """The number of the answer that a button stands for, if it stands for one."""
    number = option_id.removeprefix("option_")
    known = option_id.startswith("option_") and number.isdecimal() and int(number) < len(item.options)
    return int(number) if known else None


# --- words ------------------------------------------------------------------------------------------------------------


def elsewhere(request: QuestionRequest) -> str:
    """What is asked, for a user who cannot answer it where it is read, and where they can."""
    asked = "\n\n".join(_worded(item) for item in request.questions)
    return (
        f"{asked}\n\nAnswer in a terminal, with `sould answer {request.id}` or in `sould inbox`; until then it waits."
    )


# --- forms ------------------------------------------------------------------------------------------------------------


def form(session_id: str, request: QuestionRequest) -> Json:
    """Params of `elicitation/create`, without the scope: one property for each question, `q1` and so on."""
    return {
        "sessionId": session_id,
        "mode": "form",
        "message": "\n\n".join(_worded(item) for item in request.questions),
        "requestedSchema": form_schema(request.questions),
    }


def form_schema(questions: tuple[QuestionItem, ...]) -> Json:
    """The form for some questions: one property each, `q1` and so on, and one for words of the user's own."""
    properties: Json = {}
    for number, item in enumerate(questions, 1):
        shown: Json = {"title": item.header or item.question}
        if item.header or item.body:
            shown["description"] = _worded(item)
        choices = [_choice(option.label, option.description) for option in item.options]
        if not choices:
            shown["type"] = "string"
            if item.default:
                shown["default"] = item.default
        elif item.multi_select:
            shown |= {"type": "array", "items": {"anyOf": choices}}
        else:
            shown |= {"type": "string", "oneOf": choices}
        properties[f"q{number}"] = shown
        if choices and item.other_label:
            other: Json = {"type": "string", "title": item.other_label}
            if item.other_description:
                other["description"] = item.other_description
            properties[f"q{number}_other"] = other
    return {"type": "object", "properties": properties}


def form_answers(questions: tuple[QuestionItem, ...], content: Json) -> dict[str, str]:
    """Question to chosen label, or to the user's own words; several are joined, unanswered ones are left out."""
    answers: dict[str, str] = {}
    for number, item in enumerate(questions, 1):
        chosen, own = content.get(f"q{number}"), content.get(f"q{number}_other")
        given = [*cast("list[object]", chosen), own] if isinstance(chosen, list) else [own or chosen]
        answer = ", ".join(each for each in given if isinstance(each, str) and each)
        if answer:
            answers[item.question] = answer
    return answers


def _choice(label: str, description: str) -> Json:
    return {"const": label, "title": label, **({"description": description} if description else {})}


def _worded(item: QuestionItem) -> str:
    return f"{item.question}\n\n{item.body}" if item.body else item.question
