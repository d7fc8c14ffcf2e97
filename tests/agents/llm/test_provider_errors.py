"""What an error says to people, whoever wrapped whose words in what, and what it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.llm.provider_errors import Asked, Redactor, event_error, status_error

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
    asked = Asked("http://gateway.example/chat/completions")
    address = status_error(404, {}, b'{"detail":"Not Found"}', Redactor(), asked).message
    assert address.endswith(
        f"(HTTP 404): Not Found; {asked.address} was asked; check the base_url, it usually ends in /v1"
    )
    assert asked.address in status_error(404, {}, b"", Redactor(), asked).message
    assert "base_url" not in status_error(404, {}, b'{"error":"model \'x\' not found"}', Redactor()).message


KEYLESS = Asked(
    "http://gateway.example/v1/chat/completions", keyless=True, remedy="No key was sent: run `sould login x`."
)
KEYED = Asked("http://gateway.example/v1/chat/completions", remedy="Run `sould login x` with another key.")
BEHIND = "litellm.AuthenticationError: Missing Anthropic API Key - A call is being made to anthropic but no key is set"


@pytest.mark.parametrize(
    ("status", "words", "asked", "kind", "sentence"),
    [
        (400, "No connected db.", KEYLESS, "auth", "The model server wants a key (HTTP 400)"),
        (400, "No connected db.", KEYED, "auth", "The model server refused the key (HTTP 400)"),
        (500, "Internal Server Error", KEYLESS, "provider", "It may want a key."),
        (
            401,
            "Authentication Error, No api key passed in.",
            KEYLESS,
            "auth",
            "The model server wants a key (HTTP 401)",
        ),
    ],
)
def test_what_may_be_the_key_says_what_to_do_about_it(
    status: int, words: str, asked: Asked, kind: str, sentence: str
) -> None:
    error = status_error(status, {}, json.dumps({"error": {"message": words}}).encode(), Redactor(), asked)
    assert error.kind == kind
    assert sentence in error.message
    assert error.message.endswith(asked.remedy)


@pytest.mark.parametrize("words", [BEHIND, "The api_key client option must be set by passing api_key to the client"])
def test_a_key_that_a_gateway_misses_itself_is_not_the_users(words: str) -> None:
    error = status_error(401, {}, json.dumps({"error": {"message": words}}).encode(), Redactor(), KEYED)
    assert (error.kind, error.retryable) == ("provider", False)
    assert error.message.startswith("The gateway's own key for the model behind it is missing or refused (HTTP 401)")
    assert KEYED.remedy not in error.message


def test_a_failure_with_a_key_says_nothing_of_keys() -> None:
    assert "key" not in status_error(500, {}, b"Internal Server Error", Redactor(), KEYED).message


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
