"""A form of an MCP server as a client with forms shows it, and a page as one with pages does. Pure.

Types, limits, defaults and formats go as they are; what the answer is worth is judged by who asked.
"""

from sould.acp.features import Features
from sould.acp.outbound import Json
from sould.acp.schema import ElicitationAnswer
from sould.agents.mcp.asking import answers_of
from sould.agents.wire.messages import QuestionRequest, QuestionResponse
from sould.agents.wire.requests import ServerForm


def shows(form: ServerForm | None, features: Features) -> bool:
    """Whether the client can be shown the form itself; else its questions are asked."""
    return form is not None and (features.pages if form.url else features.forms and bool(form.properties))


def server_form(session_id: str, request: QuestionRequest, form: ServerForm) -> Json:
    """Params of `elicitation/create`."""
    asked: Json = {"sessionId": session_id, "message": form.text, "_meta": {"sould": {"server": form.server}}}
    if form.url:
        return asked | {"mode": "url", "elicitationId": request.id, "url": form.url}
    schema: Json = {"type": "object", "properties": form.properties}
    if form.required:
        schema["required"] = list(form.required)
    return asked | {"mode": "form", "requestedSchema": schema}


def form_response(request: QuestionRequest, form: ServerForm, answer: ElicitationAnswer) -> QuestionResponse:
    """What the user did with it."""
    if answer.action != "accept":
        return QuestionResponse(request_id=request.id, declined=answer.action == "decline")
    content = answer.content or {}
    return QuestionResponse(request_id=request.id, answers=answers_of(form, content), content=content)
