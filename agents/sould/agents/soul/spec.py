"""Agent specs: which prompt and tools make an agent. YAML, version 1.

A spec is read as raw data and validated once; paths in it belong to the file that wrote them. Nothing here loads a tool.
"""

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sould.agents.errors import ConfigError

BUILTIN = Path(__file__).parent.parent / "specs"


class AgentSpec(BaseModel):
    """One agent. `tools` are `module:Class` paths, in the order the model sees them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    system_prompt_path: Path
    system_prompt_args: dict[str, str] = Field(default_factory=dict)
    tools: tuple[str, ...]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1]
    agent: AgentSpec


def load_spec(path: Path) -> AgentSpec:
    """Read one spec file; `system_prompt_path` comes back absolute.

    Raises:
        ConfigError: naming file and key.
    """
    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        spec = _Document.model_validate(raw).agent
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"The agent spec {path} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{path}: {key}: {first['msg']}") from error
    return spec.model_copy(update={"system_prompt_path": path.parent / spec.system_prompt_path})


def builtin_spec(name: str) -> AgentSpec:
    """A spec that ships with sould."""
    return load_spec(BUILTIN / name / "agent.yaml")
