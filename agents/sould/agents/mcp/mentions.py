"""Resources of servers that a prompt mentions: `@server:uri` in its text, or a link that an editor put there.

What is mentioned is read for the prompt, once each, within the limits of a call's result. What cannot be read is said
to the user and to the model; the turn goes on.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from sould.agents.mcp.server import Server, UnavailableError
from sould.agents.wire.content import TextPart, UserInput

MOST: Final = 10
"""Resources of one prompt."""
_LINK = re.compile(r'<resource_link uri="([^"]{1,2000})"')
_ATTACHED = ("<resource ", "<resource>")
_AFTER = ".,;:!?)]}'\"»"
"""What may follow an address in a sentence."""


def mentioned(given: UserInput, servers: Mapping[str, Server]) -> tuple[tuple[Server, str], ...]:
    """The servers and addresses that a prompt mentions, in its order, each once."""
    texts = [given] if isinstance(given, str) else [part.text for part in given if isinstance(part, TextPart)]
    if not isinstance(given, str):  # what an attached file says is not what the user says
        texts = [text for text in texts if not text.startswith(_ATTACHED)]
    found = [pair for text in texts for pair in (*_named(text, servers), *_linked(text, servers))]
    return tuple(dict.fromkeys(found))[:MOST]


def _named(text: str, servers: Mapping[str, Server]) -> Iterator[tuple[Server, str]]:
    if not servers or "@" not in text:
        return
    names = "|".join(re.escape(name) for name in sorted(servers, key=len, reverse=True))
    for match in re.finditer(rf"(?<![\w@])@({names}):(\S{{1,2000}})", text):
        server = servers[match[1]]
        known = {resource.uri for resource in server.resources}
        uri = match[2]
        while uri not in known and uri[-1:] and uri[-1] in _AFTER:
            uri = uri[:-1]
        if uri:
            yield server, uri


def _linked(text: str, servers: Mapping[str, Server]) -> Iterator[tuple[Server, str]]:
    import html  # noqa: PLC0415 -- the names of all characters, half a megabyte, for few prompts

    for match in _LINK.finditer(text):
        uri = html.unescape(match[1])
        for server in servers.values():
            if any(resource.uri == uri for resource in server.resources):
                yield server, uri
                break


async def read(server: Server, uri: str) -> tuple[str, str]:
    """What the model is told about one mentioned resource, and the sentence for the user when it cannot be read."""
    import html  # noqa: PLC0415 -- as above

    place = f'server="{html.escape(server.spec.name)}" uri="{html.escape(uri)}"'
    try:
        parts, cut = await server.read(uri)
    except UnavailableError as error:
        return f'<resource {place} note="It could not be read." />', f"@{server.spec.name}:{uri}: {error}"
    texts = [part.text if isinstance(part, TextPart) else "[an image or audio, not shown here]" for part in parts]
    return "\n".join((f"<resource {place}>", *texts, *((cut,) if cut else ()), "</resource>")), ""
