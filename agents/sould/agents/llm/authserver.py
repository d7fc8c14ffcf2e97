"""An authorisation server: the device flow (RFC 8628) and renewing tokens (RFC 6749, 6).

It asks and judges the answers; it waits for nobody, keeps nothing and renews nothing by itself. All calls block. What a
server says passes a redactor before it enters a message. It loads the HTTP library: import it when it is needed (D9).
"""

import time
from typing import Any, Literal, TypeAlias, cast

import httpx2
import orjson
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from sould.agents.base.config import OAuth
from sould.agents.base.errors import SouldError
from sould.agents.base.network.clients import blocking_client_to
from sould.agents.base.network.settings import NetworkSettings
from sould.agents.llm.provider_errors import Redactor
from sould.agents.llm.tokens import Tokens

_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_TIMEOUT = httpx2.Timeout(20.0, connect=10.0)
_TOTAL_S = 30.0
_BODY = 256 * 1024
_NO = frozenset({400, 401, 403})
"""With these the server has refused; with others it is in trouble, or is no such server."""

NotYet: TypeAlias = Literal["authorization_pending", "slow_down"]


class SignInError(SouldError):
    """A sign-in cannot be made or renewed."""

    kind = "auth"


class SignInRefusedError(SignInError):
    """The server refused for good; asking again is of no use. `code` is its error code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class AuthServerDownError(SignInError):
    """The server could not be asked now."""

    kind = "connection"


class DeviceCode(BaseModel):
    """What the user is to do, and what to ask with meanwhile. Times in seconds."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    device_code: SecretStr
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_in: float = Field(ge=0)
    interval: float = Field(default=5.0, ge=0)

    @property
    def page(self) -> str:
        """The address to open; with the code in it where the server offers that."""
        return self.verification_uri_complete or self.verification_uri


class _Granted(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    access_token: SecretStr = Field(min_length=1)
    refresh_token: SecretStr | None = None
    expires_in: float | None = Field(default=None, ge=0)


class AuthServer(Struct, frozen=True):
    """The authorisation server of one provider. `name` is the provider's, for messages."""

    name: str
    oauth: OAuth
    network: NetworkSettings

    def begin(self) -> DeviceCode:
        """Begin a device flow. Raises SignInError."""
        form = {"client_id": self.oauth.client_id}
        if self.oauth.scopes:
            form["scope"] = " ".join(self.oauth.scopes)
        status, answer = self._post(self.oauth.device_authorization_url, form, ())
        if status != 200:
            raise self._refused("begin a sign-in", status, answer, Redactor())
        try:
            code = DeviceCode.model_validate(answer)
        except ValidationError as error:
            raise self._nonsense(error) from None
        if not all(page.startswith(("https://", "http://")) for page in (code.verification_uri, code.page)):
            raise SignInError(f"The sign-in server of {self.name!r} gave a page that is not a web address.")
        return code

    def poll(self, code: DeviceCode) -> Tokens | NotYet:
        """Whether the user has decided. Raises SignInError; SignInRefusedError once it is of no use to go on."""
        form = {
            "grant_type": _DEVICE_GRANT,
            "device_code": code.device_code.get_secret_value(),
            "client_id": self.oauth.client_id,
        }
        status, answer = self._post(self.oauth.token_url, form, (code.device_code,))
        said = answer.get("error")
        if status == 200:
            return self._granted(answer)
        if said == "authorization_pending" or said == "slow_down":
            return said
        raise self._refused("finish the sign-in", status, answer, Redactor.of((code.device_code,)))

    def renew(self, tokens: Tokens) -> Tokens:
        """New tokens for old ones. Raises SignInError; SignInRefusedError when the sign-in has ended."""
        form = {
            "grant_type": "refresh_token",
            "refresh_token": tokens.refresh.get_secret_value(),
            "client_id": self.oauth.client_id,
        }
        secrets = (tokens.refresh, tokens.access)
        status, answer = self._post(self.oauth.token_url, form, secrets)
        if status != 200:
            raise self._refused("renew the sign-in", status, answer, Redactor.of(secrets))
        new = self._granted(answer)
        return new if new.refresh.get_secret_value() else new.model_copy(update={"refresh": tokens.refresh})

    def _post(self, url: str, form: dict[str, str], secrets: tuple[SecretStr, ...]) -> tuple[int, dict[str, Any]]:
        redact = Redactor.of(secrets)
        try:
            client = blocking_client_to(url, self.network, _TIMEOUT)
            headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "sould"}
            with client, client.stream("POST", url, data=form, headers=headers) as response:
                status, body = response.status_code, _read(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ImportError, OSError, ValueError) as error:
            detail = redact.line(str(error)) or type(error).__name__
            raise AuthServerDownError(f"The sign-in server of {self.name!r} cannot be reached: {detail}") from None
        try:
            answer: object = orjson.loads(body)
        except orjson.JSONDecodeError:
            answer = None
        return status, cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}

    def _granted(self, answer: dict[str, Any]) -> Tokens:
        try:
            granted = _Granted.model_validate(answer)
        except ValidationError as error:
            raise self._nonsense(error) from None
        lifetime = granted.expires_in
        return Tokens(
            access=granted.access_token,
            refresh=granted.refresh_token or SecretStr(""),
            expires_at=None if lifetime is None else time.time() + lifetime,
            lifetime=lifetime or 0.0,
        )

    def _refused(self, what: str, status: int, answer: dict[str, Any], redact: Redactor) -> SignInError:
        """What an answer that is not 200 means. A server in trouble has refused nothing."""
        code = answer.get("error")
        said = " ".join(str(answer[key]) for key in ("error", "error_description") if answer.get(key))
        shown = f": {redact.line(said)}" if said else ""
        sentence = f"The sign-in server of {self.name!r} did not {what} (HTTP {status}){shown}"
        if status not in _NO:
            return AuthServerDownError(sentence)
        return SignInRefusedError(sentence, code if isinstance(code, str) else "")

    def _nonsense(self, error: ValidationError) -> SignInError:
        field = ".".join(str(part) for part in error.errors(include_input=False, include_url=False)[0]["loc"])
        return SignInError(f"The sign-in server of {self.name!r} gave an answer without a usable {field!r}.")


def _read(response: httpx2.Response) -> bytes:
    """The body, as much of it as makes sense and as long as is bearable."""
    deadline = time.monotonic() + _TOTAL_S
    body = b""
    for piece in response.iter_raw():
        body += piece
        if len(body) > _BODY:
            raise ValueError("the answer is too long")
        if time.monotonic() > deadline:
            raise TimeoutError(f"the answer took longer than {_TOTAL_S:g} s")
    return body
