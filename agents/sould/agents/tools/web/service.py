"""Pages through Moonshot's fetch service, for pages that need a browser to be read.

It is told a public URL and nothing else. Whatever goes wrong is a `FetchError`: the page is then fetched directly.
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import orjson
from pydantic import BaseModel, SecretStr, ValidationError

from sould.agents.base.config import Service
from sould.agents.llm.provider import ProviderError
from sould.agents.tools.web.fetching import FetchError, PageLimits, client_for, plain, read_body

NAME = "Moonshot's fetch service"


class ServiceKeyError(Exception):
    """There is no key; the sentence says what to do."""


async def service_key(name: str, service: Service, environment: Mapping[str, str]) -> SecretStr:
    """The key of the service `name` of the configuration; an empty one where none is needed.

    Raises:
        ServiceKeyError
    """
    if service.api_key.get_secret_value() or service.oauth is None:
        return service.api_key
    if service.oauth.token_url:
        raise ServiceKeyError(f"`services.{name}` cannot sign in by itself: write its `api_key`.")
    from sould.agents.llm.signin import KimiSignIn  # noqa: PLC0415 -- loads the model client, and few need it

    try:
        return await KimiSignIn.of(name, service.oauth, environment).token()
    except ProviderError as error:
        raise ServiceKeyError(error.message) from None


class _Answer(BaseModel):
    """What the open platform answers; Kimi Code's service answers the Markdown alone."""

    title: str = ""
    markdown: str


def where(service: Service) -> str:
    """The service's host, for people."""
    return urlsplit(service.base_url).hostname or service.base_url


async def fetch_through(
    service: Service, url: str, call_id: str, environment: Mapping[str, str], limits: PageLimits
) -> tuple[str, bool]:
    """The page's text as Markdown, and whether it was cut.

    Raises:
        FetchError
    """
    import httpx2  # noqa: PLC0415 -- slow, and most sessions read no page

    try:
        key = await service_key("moonshot_fetch", service, environment)
    except ServiceKeyError as error:
        raise FetchError(str(error)) from None
    headers = {"Accept": "text/markdown", "Accept-Encoding": "identity", "User-Agent": "sould"}
    headers |= {"X-Msh-Tool-Call-Id": call_id}
    headers |= {"Authorization": f"Bearer {key.get_secret_value()}"} if key.get_secret_value() else {}
    headers |= {name: value.get_secret_value() for name, value in service.custom_headers.items()}
    try:
        async with asyncio.timeout(limits.seconds), client_for(service.base_url, environment) as client:
            request = client.build_request(
                "POST", service.base_url, json={"url": url}, headers=headers, timeout=limits.seconds
            )
            response = await client.send(request, stream=True)
            try:
                body, cut = await read_body(response, limits.size)
            finally:
                await response.aclose()
    except TimeoutError as error:
        raise FetchError(f"{NAME} did not answer within {limits.seconds:g} seconds.") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise FetchError(f"{NAME} cannot be reached ({type(error).__name__}).") from error
    if response.status_code != 200:
        raise FetchError(f"{NAME} answered with status {response.status_code}.")
    text = await asyncio.to_thread(_markdown, response.headers.get("content-type", ""), body)
    if not text.strip():
        raise FetchError(f"{NAME} found no text.")
    return text, cut


def _markdown(kind: str, body: bytes) -> str:
    if not kind.startswith("application/json"):
        return plain(body)
    try:
        said: Any = orjson.loads(body)
        answer = _Answer.model_validate(said)
    except (orjson.JSONDecodeError, ValidationError) as error:
        raise FetchError(f"{NAME} did not answer with a page.") from error
    title = f"# {answer.title}\n\n" if answer.title and not answer.markdown.lstrip().startswith("#") else ""
    return plain(f"{title}{answer.markdown}".encode(errors="replace"))
