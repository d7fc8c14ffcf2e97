"""Whether a server that speaks chat completions can be asked: does it answer, accept the key, and which models has it?

It is asked for its list of models as it is asked for answers: the same address, key, proxy and certificates. This module
loads the HTTP library: it is imported when somebody wants to know.
"""

import time
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import orjson
from msgspec.structs import replace

from sould.agents.base.network.certificates import advice
from sould.agents.base.network.clients import client_to
from sould.agents.base.network.failures import is_untrusted, why_unreachable
from sould.agents.llm.provider_errors import is_unknown_model, status_error
from sould.agents.llm.server import Check, Server, served_models

_OK, _UNKNOWN, _NOT_ALLOWED = 200, 404, 405
_LOOKED_AT = 8192
"""Bytes of a refusal."""
_USUALLY = "Correct the base_url: it usually ends in /v1."


async def check(server: Server, provider: str, timeout_s: float) -> Check:
    """See `ModelClient.check`."""
    settings, url = server.settings, server.address
    try:
        async with client_to(server.url, settings.network, httpx2.Timeout(timeout_s)) as client:
            response = await client.get(f"{settings.base_url}/models", headers=server.headers)
            if response.status_code == _UNKNOWN:  # not every server lists its models: is there what answers prompts?
                found = _judge_empty(await client.post(server.url, headers=server.headers, json={}), server)
            else:
                found = _judge(response, server)
    except httpx2.TimeoutException:
        problem = f"{url} did not answer within {timeout_s:g} s."
        return Check(problem=problem, remedy="Check the network, the proxy and the base_url.")
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        detail = why_unreachable(error) or server.said(error)
        remedy = advice(settings.network) if is_untrusted(error) else _unreached(provider)
        return Check(problem=f"{url} cannot be reached: {detail}", remedy=remedy)
    return replace(found, server=url, said=f"{url} answers", skew_s=_skew(response.headers.get("date")))


def _judge_empty(response: httpx2.Response, server: Server) -> Check:
    """Of the answer to a prompt without anything in it, which costs nothing: whether the address is one for prompts."""
    if response.status_code not in (_UNKNOWN, _NOT_ALLOWED) or is_unknown_model(response.text[:_LOOKED_AT]):
        return Check()
    said = f"answers {response.status_code} at {server.path}, and {_UNKNOWN} at /models"
    return Check(problem=f"{server.address} is not the address of a model server: it {said}.", remedy=_USUALLY)


def _judge(response: httpx2.Response, server: Server) -> Check:
    status, url = response.status_code, server.address
    if status != _OK:
        error = status_error(status, response.headers, response.content[:_LOOKED_AT], server.redact, server.asked)
        if error.kind == "auth":
            does = "wants a key" if server.asked.keyless else "refuses its key"
            return Check(problem=f"{url} {does} ({status}).", remedy=server.settings.remedy)
        return Check(
            problem=f"{url} answers with status {status}: {server.redact.line(response.text[:300])}",
            remedy="Try again later; if it stays so, check the base_url and your account.",
        )
    try:
        body: Any = orjson.loads(response.content)
        return Check(models=served_models(body) or None)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Check(
            problem=f"{url} is not a model server: it answers with {response.headers.get('content-type', 'something else')}.",
            remedy=f"{_USUALLY} A network with a login page answers like this, too.",
        )


def _unreached(provider: str) -> str:
    return f"Start that server, check network and proxy, or correct the base_url of provider {provider!r}: sould config edit"


def _skew(date: str | None) -> float:
    if not date:
        return 0.0
    try:
        return time.time() - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return 0.0
