"""Make `secretrules.json` anew from the rules of a release of gitleaks: `python scripts/secretrules.py GITLEAKS_TOML VERSION`.

Takes the rules that know a secret by its form. What rests on entropy alone stays out, as does what only looks at file names.
"""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "agents/sould/agents/permissions/secretrules.json"
SOURCE = "gitleaks, config/gitleaks.toml (MIT License, Copyright (c) 2019 Zachary Rice)"
LEFT_OUT = {"generic-api-key"}
"""Told from any other text by entropy and a list of words."""
FORMS = {
    *("private-key", "jwt", "jwt-base64", "curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml"),
    *("hashicorp-tf-password", "nuget-config-password"),
}
"""No provider's own kind of key: test data is full of them."""


def main(file: str, version: str) -> None:
    """Read a release's own configuration and write the file."""
    document = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    rules = [_rule(rule) for rule in document["rules"] if "regex" in rule and rule["id"] not in LEFT_OUT]
    head = {"source": SOURCE, "version": version, "allowed": document["allowlist"]["regexes"]}
    opening = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items())
    lines = ",\n".join(json.dumps(rule, ensure_ascii=False) for rule in rules)
    TARGET.write_text(f'{{{opening},\n"rules": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(rules)} rules of gitleaks {version}")


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    allowed = [regex for entry in rule.get("allowlists", ()) for regex in entry.get("regexes", ())]
    made: dict[str, Any] = {"id": rule["id"], "regex": rule["regex"], "keywords": rule["keywords"]}
    if "secretGroup" in rule:
        made["group"] = rule["secretGroup"]
    if allowed:
        made["allowed"] = allowed
    if rule["id"] in FORMS:
        made["own_format"] = False
    return made


if __name__ == "__main__":
    main(*sys.argv[1:])
