#!/usr/bin/env python3
"""Makes src/plan/schema/builtin-schema.json: what the Kubernetes API types say about their fields.

Input: Git directories (bare or not) of kubernetes/api, kubernetes/apimachinery, kubernetes/apiextensions-apiserver and
kubernetes/kube-aggregator, each at the revision to read (default HEAD). Only facts are taken (names, types, struct tags and
`+marker` comments), no descriptions.

    git clone --bare https://github.com/kubernetes/api
    git clone --bare https://github.com/kubernetes/apimachinery
    git clone --bare https://github.com/kubernetes/apiextensions-apiserver
    git clone --bare https://github.com/kubernetes/kube-aggregator
    scripts/builtin-schema.py api.git apimachinery.git apiextensions-apiserver.git kube-aggregator.git HEAD \
        > src/plan/schema/builtin-schema.json

Output: one JSON object.
  groups  package directory -> API group
  kinds   package directory and version -> kind -> "N" (namespaced) or "C" (cluster), then "!" when client-go's scheme does
          not hold it, then "-1.22" when that Kubernetes release stopped serving it
  atomic  types that server-side apply treats as one value
  types   package directory and version -> type -> JSON field name -> field code
A field code is a shape, then flags, each after a space:
  s string, i integer, b boolean, f number, q quantity, x integer or string, t time, y base64 bytes, j any JSON,
  :Name or :package/version.Name a struct, [shape list, {shape map, and * before a shape for a Go pointer;
  ? omitempty, m or m=key strategic merge (of primitives, or by key), r patch strategy replace, k retainKeys,
  L=a,b server-side apply list map keys, S set, A atomic map, d=json a default from a marker (always last).
"""
import json
import re
import subprocess
import sys

BASIC = {
    "string": "s", "bool": "b", "byte": "i", "float64": "f", "float32": "f",
    "int": "i", "int8": "i", "int16": "i", "int32": "i", "int64": "i",
    "uint": "i", "uint8": "i", "uint16": "i", "uint32": "i", "uint64": "i",
    "rune": "i", "interface{}": "j", "any": "j",
}
# Types with their own JSON form.
SPECIAL = {
    "meta/v1.Time": "t", "meta/v1.MicroTime": "t", "meta/v1.Duration": "s", "meta/v1.FieldsV1": "j",
    "resource.Quantity": "q", "intstr.IntOrString": "x", "types.UID": "s", "types.NodeName": "s",
    "types.NamespacedName": "j", "runtime.RawExtension": "j", "runtime.Object": "j",
    "apiextensions/v1.JSON": "j", "apiextensions/v1.JSONSchemaPropsOrBool": "j",
    "apiextensions/v1.JSONSchemaPropsOrArray": "j", "apiextensions/v1.JSONSchemaPropsOrStringArray": "j",
}
OUTSIDE_SCHEME = {"apiextensions", "apiregistration"}


def show(repo, path):
    return subprocess.run(["git", "--git-dir", repo, "show", f"{REVISION}:{path}"], check=True, capture_output=True, text=True).stdout


def listing(repo):
    return subprocess.run(["git", "--git-dir", repo, "ls-tree", "-r", "--name-only", REVISION], check=True, capture_output=True, text=True).stdout.split()


class Package:
    """One API package: its structs, its aliases and its imports."""

    def __init__(self, name):
        self.name, self.structs, self.aliases, self.imports, self.markers = name, {}, {}, {}, {}

    def read(self, text):
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        for alias, path in re.findall(r'^\s*(?:import\s+)?(\w+)?\s*"(k8s\.io/[^"]+)"', text, re.M):
            parts = path.split("/")
            self.imports[alias or parts[-1]] = "/".join(parts[-2:]) if re.fullmatch(r"v\d\w*", parts[-1]) else parts[-1]
        lines, comments, i = text.split("\n"), [], 0
        while i < len(lines):
            line = lines[i]
            stripped = line.strip()
            if stripped.startswith("//"):
                comments.append(stripped[2:].strip())
            elif m := re.match(r"type (\w+) struct ?\{(\})?", line):
                fields, own = [], []
                self.markers[m[1]] = [c for c in comments if c.startswith("+")]
                comments = []
                if not m[2]:
                    i += 1
                    while not lines[i].startswith("}"):
                        inner = lines[i].strip()
                        if inner.startswith("//"):
                            own.append(inner[2:].strip())
                        elif inner:
                            fields.append((inner, [c for c in own if c.startswith("+")]))
                            own = []
                        i += 1
                self.structs[m[1]] = fields
            elif m := re.match(r"type (\w+) =? ?([\w\[\]\.\*{}]+)\s*(?://.*)?$", line):
                self.aliases[m[1]] = m[2]
                comments = []
            elif stripped and not stripped.startswith("//"):
                comments = []
            i += 1


def resolve(packages, package, go_type):
    """The shape code of a Go type as seen from a package."""
    if go_type.startswith("*"):
        return "*" + resolve(packages, package, go_type[1:])
    if go_type == "[]byte":
        return "y"
    if go_type.startswith("[]"):
        return "[" + resolve(packages, package, go_type[2:])
    if m := re.match(r"map\[[\w.]+\](.+)", go_type):
        return "{" + resolve(packages, package, m[1])
    if go_type in BASIC:
        return BASIC[go_type]
    if "." in go_type:
        prefix, name = go_type.split(".")
        target = package.imports.get(prefix, prefix)
    else:
        target, name = package.name, go_type
    full = f"{target}.{name}"
    if full in SPECIAL:
        return SPECIAL[full]
    other = packages.get(target)
    if other and name in other.aliases:
        return resolve(packages, other, other.aliases[name])
    if other and name in other.structs:
        return ":" + full
    raise SystemExit(f"{package.name}: no shape for {go_type}")


def fields_of(packages, package, name):
    """JSON field name -> field code, with embedded structs written out."""
    result = {}
    for line, markers in package.structs[name]:
        m = re.match(r"((?:\w+ )?)\s*([\w\[\]\.\*{}]+)\s*`([^`]*)`", re.sub(r"\s+", " ", line))
        if not m:
            raise SystemExit(f"{package.name}.{name}: cannot read {line}")
        go_name, go_type, tags = m[1].strip(), m[2], dict(re.findall(r'(\w+):"([^"]*)"', m[3]))
        json_name, *options = tags.get("json", "").split(",")
        if json_name == "-":
            continue
        if not json_name:
            if "TypeMeta" in go_type:
                result.update({"apiVersion": "s ?", "kind": "s ?"})
                continue
            shape = resolve(packages, package, go_type).lstrip("*")
            target, inner = shape[1:].rsplit(".", 1)
            result.update(fields_of(packages, packages[target], inner))
            continue
        code = resolve(packages, package, go_type).replace(":" + package.name + ".", ":")
        if "omitempty" in options or "omitzero" in options:
            code += " ?"
        strategy = tags.get("patchStrategy", "").split(",")
        if "merge" in strategy:
            code += " m=" + tags["patchMergeKey"] if tags.get("patchMergeKey") else " m"
        if "replace" in strategy:
            code += " r"
        if "retainKeys" in strategy:
            code += " k"
        found = {}
        for marker in markers:
            key, _, value = marker[1:].partition("=")
            found.setdefault(key.strip(), []).append(value.strip())
        kind = found.get("listType", [""])[0]
        if kind == "map":
            code += " L=" + ",".join(found["listMapKey"])
        elif kind == "set":
            code += " S"
        if "atomic" in found.get("mapType", []) + found.get("structType", []):
            code += " A"
        if default := [d for d in found.get("default", []) if not d.startswith("ref(")]:
            code += " d=" + json.dumps(json.loads(default[0]))
        elif reference := [d for d in found.get("default", []) if d.startswith("ref(")]:
            code += " d=" + json.dumps(constant(package, reference[0][4:-1]))
        result[json_name] = code
    return result


def removed_release(markers):
    """The minor release that stops serving a version: stated, or three after the deprecation, as Kubernetes reckons."""
    stated = dict(re.findall(r"\+k8s:prerelease-lifecycle-gen:(introduced|deprecated|removed)=1\.(\d+)", "\n".join(markers)))
    if "removed" in stated:
        return int(stated["removed"])
    return int(stated["deprecated"]) + 3 if "deprecated" in stated else None


def constant(package, reference):
    text = TEXTS[package.name]
    m = re.search(r"\b" + reference.split(".")[-1] + r"\b[^=\n]*=\s*(\"[^\"]*\"|\d+)", text)
    if not m:
        raise SystemExit(f"{package.name}: no constant {reference}")
    return json.loads(m[1])


def main():
    api, machinery, extensions, aggregator = sys.argv[1:5]
    sources = {}
    for path in listing(api):
        if m := re.fullmatch(r"(\w+/v\w+)/(types|register)\w*\.go", path):
            if m[1].split("/")[0] not in {"apidiscovery", "imagepolicy", "admission"}:
                sources.setdefault(m[1], []).append(show(api, path))
    sources["meta/v1"] = [show(machinery, f"pkg/apis/meta/v1/{name}.go") for name in ("types", "group_version")]
    for path in ("types.go", "types_jsonschema.go", "register.go"):
        sources.setdefault("apiextensions/v1", []).append(show(extensions, "pkg/apis/apiextensions/v1/" + path))
    for path in ("types.go", "register.go"):
        sources.setdefault("apiregistration/v1", []).append(show(aggregator, "pkg/apis/apiregistration/v1/" + path))

    packages, groups = {}, {}
    for name, texts in sorted(sources.items()):
        packages[name] = Package(name)
        TEXTS[name] = "\n".join(texts)
        for text in texts:
            packages[name].read(text)
            if m := re.search(r'const GroupName = "([^"]*)"', text):
                groups[name.split("/")[0]] = m[1]
    groups.setdefault("apiextensions", "apiextensions.k8s.io")

    kinds, types, atomic, todo = {}, {}, set(), []
    for name, package in packages.items():
        if name == "meta/v1":
            continue
        for struct, fields in package.structs.items():
            heads = " ".join(line for line, _ in fields[:2])
            if "TypeMeta" not in heads or "ObjectMeta" not in heads:
                continue
            markers = package.markers[struct]
            code = "C" if "+genclient:nonNamespaced" in markers else "N"
            if name.split("/")[0] in OUTSIDE_SCHEME:
                code += "!"
            removed = removed_release(markers)
            if removed:
                code += f"-1.{removed}"
            kinds.setdefault(name, {})[struct] = code
            if removed and removed < 30:
                # Gone from every supported cluster: its fields would only cost room.
                continue
            todo.append((name, struct))
    seen = set()
    while todo:
        name, struct = todo.pop()
        if (name, struct) in seen:
            continue
        seen.add((name, struct))
        package = packages[name]
        if any(m in ("+structType=atomic", "+mapType=atomic") for m in package.markers.get(struct, [])):
            atomic.add(f"{name}.{struct}")
        fields = fields_of(packages, package, struct)
        types.setdefault(name, {})[struct] = fields
        for code in fields.values():
            if m := re.search(r":([\w/.]+)", code.split(" ")[0]):
                target = m[1] if "." in m[1] else f"{name}.{m[1]}"
                todo.append(tuple(target.rsplit(".", 1)))
    print("{")
    print(f'"groups":{json.dumps(groups, sort_keys=True, separators=(",", ":"))},')
    print(f'"atomic":{json.dumps(sorted(atomic), separators=(",", ":"))},')
    print('"kinds":{')
    print(",\n".join(f"{json.dumps(k)}:{json.dumps(v, sort_keys=True, separators=(',', ':'))}" for k, v in sorted(kinds.items())))
    print('},\n"types":{')
    print(",\n".join(
        f"{json.dumps(k)}:{{\n" + ",\n".join(f"{json.dumps(t)}:{json.dumps(f, separators=(',', ':'))}" for t, f in sorted(v.items())) + "\n}"
        for k, v in sorted(types.items())))
    print("}}")


REVISION = sys.argv[5] if len(sys.argv) > 5 else "HEAD"
TEXTS = {}
main()
