#!/usr/bin/env python3
"""Makes src/plan/schema/argocd-schema.json: what Argo CD's CustomResourceDefinitions demand in all versions that are supported.

Input: a Git directory (bare or not) of argoproj/argo-cd with its tags, and the revisions to read. Only facts are taken (names, types,
required fields), no descriptions.

    git clone --bare https://github.com/argoproj/argo-cd
    scripts/argocd-schema.py argo-cd.git v2.14.0 v2.14.21 v3.0.0 ... > src/plan/schema/argocd-schema.json

What is the same in all revisions stays: a field that one of them does not have, or has with another type, is left open, and a field that
one of them does not require is not required. `metadata` and `status` are left out.

Output: one JSON object.
  kinds  kind -> index of its type
  types  each {"plain": "s"} (string), "i" (integer), "n" (number), "b" (boolean), "j" (any JSON);
         {"list": index}, {"map": index}, or {"fields": {name: index}, "required": [name]}
"""
import json
import subprocess
import sys

import yaml

FILES = {"Application": "application", "ApplicationSet": "applicationset", "AppProject": "appproject"}
PLAIN = {"string": "s", "integer": "i", "number": "n", "boolean": "b"}
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def schema(repo, revision, file):
    path = f"{revision}:manifests/crds/{file}-crd.yaml"
    text = subprocess.run(["git", "--git-dir", repo, "show", path], check=True, capture_output=True, text=True).stdout
    (version,) = yaml.load(text, LOADER)["spec"]["versions"]
    root = version["schema"]["openAPIV3Schema"]
    for name in ("metadata", "status"):
        root["properties"].pop(name, None)
        if name in root.get("required", []):
            root["required"].remove(name)
    return root


class Types:
    """The types found so far, each once."""

    def __init__(self):
        self.types, self.known = [], {}

    def index(self, found):
        text = json.dumps(found, sort_keys=True)
        if text not in self.known:
            self.known[text] = len(self.types)
            self.types.append(found)
        return self.known[text]

    def common(self, schemas):
        """The index of what all these schemas say."""
        kinds = {one.get("type") for one in schemas}
        kind = kinds.pop() if len(kinds) == 1 else None
        if kind is None or any(one.get("x-kubernetes-int-or-string") for one in schemas):
            return self.index({"plain": "j"})
        if kind == "array":
            return self.index({"list": self.common([one["items"] for one in schemas])})
        if kind != "object":
            return self.index({"plain": PLAIN[kind]})
        values = [one.get("additionalProperties") for one in schemas]
        if all(isinstance(value, dict) for value in values):
            return self.index({"map": self.common(values)})
        properties = [one.get("properties", {}) for one in schemas]
        names = sorted(set.intersection(*(set(own) for own in properties)))
        required = set.intersection(*(set(one.get("required", [])) for one in schemas))
        # The API server fills a default in before it asks, and takes null where it may stand.
        filled = {name for own in properties for name, value in own.items() if "default" in value or value.get("nullable")}
        fields = {name: self.common([own[name] for own in properties]) for name in names}
        return self.index({"fields": fields, "required": sorted(required - filled)})


def main():
    repo, revisions = sys.argv[1], sys.argv[2:]
    types = Types()
    kinds = {kind: types.common([schema(repo, revision, file) for revision in revisions]) for kind, file in FILES.items()}
    lines = ",\n".join(json.dumps(found, separators=(",", ":")) for found in types.types)
    print(f'{{\n"kinds":{json.dumps(kinds, separators=(",", ":"))},\n"types":[\n{lines}\n]\n}}')


main()
