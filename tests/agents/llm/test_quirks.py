"""What a refusal teaches of a server: once, and only what we can do without."""

import pytest

from sould.agents.llm.provider_errors import Redactor, status_error
from sould.agents.llm.quirks import Quirks

TAUGHT = {
    # openai-agents-python 442 (Mistral): a 422 with pydantic's words
    "stream options, as Mistral said it": (
        422,
        (
            b'{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],'
            b'"msg":"Extra inputs are not permitted","input":true}]},"type":"invalid_request_error"}'
        ),
        Quirks(left_out=frozenset({"stream_options"})),
    ),
    # Flowise 2866 (Fireworks)
    "stream options, as Fireworks said it": (
        400,
        b'{"error":{"message":"Extra inputs are not permitted, field: \'stream_options\', value: {\'include_usage\': True}"}}',
        Quirks(left_out=frozenset({"stream_options"})),
    ),
    # Kimi-K2 124
    "a temperature": (
        400,
        b'{"error":{"message":"invalid temperature: only 1 is allowed for this model","type":"invalid_request_error"}}',
        Quirks(left_out=frozenset({"temperature"})),
    ),
    # opencode 37964 (Azure)
    "the other name of the limit": (
        400,
        (
            b'{"error":{"message":"Unsupported parameter: \'max_tokens\' is not supported with this model. Use '
            b'\'max_completion_tokens\' instead.","param":"max_tokens"}}'
        ),
        Quirks(renamed=True),
    ),
    # Groq: jan 8136
    "reasoning that is not taken back": (
        400,
        (
            b"{\"error\":{\"message\":\"'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : "
            b"property 'reasoning_content' is unsupported)]\"}}"
        ),
        Quirks(stateless=True),
    ),
    # DeepSeek: pi 3636
    "reasoning that is wanted in every answer": (
        400,
        b'{"error":{"message":"Missing `reasoning_content` field in the assistant message at message index 2."}}',
        Quirks(placeholder=""),
    ),
    # Mistral: hermes-agent 20154
    "the order of roles": (
        400,
        b'{"object":"error","message":"Unexpected role \'user\' after role \'tool\'","type":"invalid_request_message_order"}',
        Quirks(answer_after_tools=True),
    ),
    # a sentence that also speaks of reasoning
    "a field that reasoning models do not take": (
        400,
        b'{"error":{"message":"Unsupported parameter: \'temperature\' is not supported with reasoning models."}}',
        Quirks(left_out=frozenset({"temperature"})),
    ),
}


@pytest.mark.parametrize(("status", "body", "learned"), TAUGHT.values(), ids=TAUGHT)
def test_a_refusal_is_learned_from_and_a_server_that_goes_on_is_believed(
    status: int, body: bytes, learned: Quirks
) -> None:
    error = status_error(status, {}, body, Redactor())
    assert Quirks().learned(error) == learned
    further = 0
    while (more := learned.learned(error)) is not None:
        learned, further = more, further + 1
    assert further <= 2


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, b'{"error":{"message":"The parameter `flux` is not allowed."}}'),
        (401, b'{"error":{"message":"temperature is not supported for this key"}}'),
        (500, b'{"error":{"message":"stream_options is not supported"}}'),
        (400, b'{"error":{"message":"This model\'s maximum context length is 8192 tokens."}}'),
    ],
    ids=["a field we never send", "a refused key", "a server that failed", "a conversation that is too long"],
)
def test_other_refusals_teach_nothing(status: int, body: bytes) -> None:
    assert Quirks().learned(status_error(status, {}, body, Redactor())) is None
