"""What an error says to people, whoever wrapped whose words in what, and what it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.llm.failures import Redactor, event_error, status_error

WORDS = "The words of the provider"
WRAPPED: dict[str, tuple[object, str]] = {
    "OpenAI": ({"error": {"message": WORDS, "type": "invalid_request_error", "param": None, "code": None}}, WORDS),
    "a list, as Gemini": ([{"error": {"code": 400, "message": WORDS, "status": "INVALID_ARGUMENT"}}], WORDS),
    "xAI": ({"code": "Client specified an invalid argument", "error": WORDS}, WORDS),
    "JSON in a message, as Copilot": ({"error": {"message": json.dumps({"error": {"message": WORDS}}) + "\n"}}, WORDS),
    "OpenRouter with JSON": (
        {
            "error": {
                "message": "Provider returned error",
                "metadata": {"raw": json.dumps({"error": {"message": WORDS}})},
            }
        },
        WORDS,
    ),
    "OpenRouter with text": (
        {"error": {"message": "Provider returned error", "metadata": {"raw": WORDS, "provider_name": "Chutes"}}},
        f"Chutes: {WORDS}",
    ),
    "pydantic's, as Mistral": (
        {"object": "error", "message": {"detail": [{"loc": ["body", "x"], "msg": WORDS, "type": "extra_forbidden"}]}},
        f"{WORDS} (body.x)",
    ),
    "FastAPI": ({"detail": WORDS}, WORDS),
    "text": (WORDS, WORDS),
}


@pytest.mark.parametrize(("body", "shown"), WRAPPED.values(), ids=WRAPPED)
def test_the_words_of_who_knows_are_shown(body: dict[str, Any] | str, shown: str) -> None:
    sent = body if isinstance(body, str) else json.dumps(body)
    error = status_error(400, {}, sent.encode(), Redactor())
    assert error.message == f"The model server refused the request (HTTP 400): {shown}"
    within = body.get("error") if isinstance(body, dict) else None
    if isinstance(within, dict):
        assert event_error(within, Redactor()).message.endswith(shown)


TOO_LONG = {
    "vLLM": "The decoder prompt (length 163840) is longer than the maximum model length of 131072.",
    "DashScope": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Copilot": "prompt token count of 135099 exceeds the limit of 128000",
    "Bedrock": "ValidationException: Input is too long for requested model.",
    "Claude": "prompt is too long: 227255 tokens > 200000 maximum",
}


@pytest.mark.parametrize("words", TOO_LONG.values(), ids=TOO_LONG)
def test_a_conversation_that_is_too_long_is_known_by_the_words_of_each_server(words: str) -> None:
    assert (
        status_error(400, {}, json.dumps({"error": {"message": words}}).encode(), Redactor()).kind == "context_too_long"
    )
    wrapped = {"error": {"message": "Provider returned error", "metadata": {"raw": words}}}
    assert status_error(400, {}, json.dumps(wrapped).encode(), Redactor()).kind == "context_too_long"


def test_an_address_that_is_not_found_is_no_model_that_is_not_found() -> None:
    address = status_error(404, {}, b'{"detail":"Not Found"}', Redactor()).message
    assert address.endswith("(HTTP 404): Not Found; check the base_url, it usually ends in /v1")
    assert "base_url" not in status_error(404, {}, b'{"error":"model \'x\' not found"}', Redactor()).message


def test_a_request_that_a_gateway_finds_too_large_is_too_long() -> None:
    page = b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>nginx</body></html>"
    error = status_error(413, {}, page, Redactor())
    assert error.kind == "context_too_long"
    assert "Request Entity Too Large" in error.message
    assert "base_url" not in error.message


@pytest.mark.parametrize(
    "body",
    [
        (
            b'[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please '
            b'retry in 5.2s.","status":"RESOURCE_EXHAUSTED"}}]'
        ),
        b'[{"error":{"code":429,"message":"quota, billing","details":[{"@type":"RetryInfo","retryDelay":"5.2s"}]}}]',
    ],
)
def test_a_wait_that_is_told_in_the_body_is_kept_and_means_no_empty_account(body: bytes) -> None:
    error = status_error(429, {}, body, Redactor())
    assert (error.kind, error.retryable, error.retry_after) == ("rate_limited", True, 5.2)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "detail", "metadata", "raw", "msg", "loc", "code"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from([400, 401, 404, 413, 429, 500, 503]))
def test_whatever_a_server_says_is_one_line(body: Any, status: int) -> None:
    error = status_error(status, {}, json.dumps(body).encode(), Redactor())
    assert error.message
    assert error.message.isprintable()
    assert len(error.message) < 1000


def test_words_that_are_wrapped_without_end_are_read_to_some_depth() -> None:
    body: Any = WORDS
    for _ in range(500):
        body = {"error": body}
    assert status_error(400, {}, json.dumps(body).encode(), Redactor()).message
