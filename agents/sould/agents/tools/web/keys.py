"""The key a web service is asked with: written in the configuration, or kimi-cli's sign-in while that is valid (D24).

Nothing is kept and nothing renewed.
"""

from collections.abc import Mapping

from pydantic import SecretStr

from sould.agents.base.config import Service
from sould.agents.llm.provider import ProviderError


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
