#!/usr/bin/env python3
"""Checks examples/kubernetes: against the schemas of Kubernetes and KServe, and that `lamina serve` takes the arguments
and answers the probes that they name.

    manifests_test.py LAMINA FOLDER

The schemas are those of the PyPI packages kubernetes-validate and kserve, which are installed into FOLDER the first
time. The exit status is 77 if that is impossible, unless $LAMINA_REQUIRE_CLIENTS is set. The variants with a GPU are checked
where there is `kubectl`.
"""

import ast
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

lamina, environment = sys.argv[1], pathlib.Path(sys.argv[2])
repository = pathlib.Path(__file__).resolve().parents[2]
manifests = repository / "examples" / "kubernetes"
validator, kserve = "kubernetes-validate==1.37.0", "kserve==0.21.0"
sys.path.insert(0, str(repository / "tests"))
import pip_environment  # noqa: E402

pip_environment.enter(environment, [validator], ["--no-deps", kserve]) # of kserve, its types alone are needed

import jsonschema  # noqa: E402
import kubernetes_validate  # noqa: E402
import yaml  # noqa: E402

packages = pathlib.Path(kubernetes_validate.__file__).parents[1]
schemas = packages / "kubernetes_validate" / "kubernetes-json-schema" / "v1.37.0-local-strict"
simple = {"str": "string", "int": "integer", "bool": "boolean", "object": "object"}


class KServe:
    """Schemas of KServe's types, read from the tables in its generated classes, and of the Kubernetes types in them."""

    def __init__(self):
        self.kubernetes = json.loads((schemas / "_definitions.json").read_text())["$defs"]
        self.texts = {}
        for path in (packages / "kserve" / "models").glob("*.py"):
            text = path.read_text()
            for name in re.findall(r"^class (\w+)\(object\)", text, re.M):
                self.texts[name] = text

    def schema(self, kind):
        """Of a type as a table has it: "list[V1Container]"."""
        inner = re.fullmatch(r"list\[(.*)\]|dict\(str, (.*)\)", kind)
        if inner and inner[1]:
            return {"type": "array", "items": self.schema(inner[1])}
        if inner:
            return {"type": "object", "additionalProperties": self.schema(inner[2])}
        if kind in simple:
            return {"type": simple[kind]}
        if kind in self.texts:
            return {"$ref": f"#/$defs/{kind}"}
        of_kubernetes = {"ResourceQuantity": "apimachinery.pkg.api.resource.Quantity",
                         "V1ObjectMeta": "apimachinery.pkg.apis.meta.v1.ObjectMeta"}
        name = "io.k8s." + of_kubernetes.get(kind, "api.core.v1." + kind.removeprefix("V1"))
        return {"$ref": f"#/$defs/{name}"} if name in self.kubernetes else False # nothing is known: it may not be used

    def definition(self, name):
        """Strict: a field that the type does not have is an error."""
        types, keys = (ast.literal_eval(re.search(rf"{table} = (\{{.*?\}})", self.texts[name], re.S)[1])
                       for table in ("openapi_types", "attribute_map"))
        needed = re.findall(r"Invalid value for `(\w+)`, must not be `None`", self.texts[name])
        return {"type": "object", "additionalProperties": False, "required": sorted({keys[field] for field in needed}),
                "properties": {keys[field]: self.schema(kind) for field, kind in types.items()}}

    def check(self, manifest):
        version = manifest["apiVersion"].removeprefix("serving.kserve.io/")
        name = version[0].upper() + version[1:] + manifest["kind"]
        definitions, wanted = dict(self.kubernetes), [name]
        while wanted:
            each = wanted.pop()
            if each not in definitions:
                definitions[each] = self.definition(each)
                wanted += re.findall(r"#/\$defs/(V\w+)", json.dumps(definitions[each]))
        schema = {"$ref": f"#/$defs/{name}", "$defs": definitions}
        jsonschema.Draft202012Validator(schema).validate(manifest)


def check(manifest, types=KServe()):
    if manifest["apiVersion"].startswith("serving.kserve.io/"):
        types.check(manifest)
    elif not manifest["apiVersion"].startswith("kustomize."): # kubectl has checked that
        kubernetes_validate.validate(manifest, "1.37", strict=True)


def expect_refused(manifest, *place):
    """The check must fail for a misspelled field, or it would check nothing."""
    broken = json.loads(json.dumps(manifest))
    inner = broken
    for key in place:
        inner = inner[key]
    inner["misspelled"] = 1
    try:
        check(broken)
    except jsonschema.ValidationError:
        return
    raise AssertionError(f"a misspelled field in {manifest['kind']} {place} was accepted")


def check_server(container, folder):
    """`lamina serve` takes the arguments of a container, and answers its probes without a key."""
    (folder / "keys").write_text("secret\n")
    arguments = []
    for argument in container["args"]:
        argument = re.sub(r"=/m.*", f"={repository / 'models' / 'g2p'}", argument).replace("{{.Name}}", "model")
        argument = re.sub("=/keys/", f"={folder}/", argument)
        if not argument.startswith("--port") and not argument.startswith("--host"):
            arguments.append(argument)
    port = next((int(each.split("=")[1]) for each in container["args"] if each.startswith("--port=")), 8000)
    assert [each["containerPort"] for each in container["ports"]] == [port], container["ports"]
    assert "--host=0.0.0.0" in container["args"]
    server = subprocess.Popen([lamina, *arguments, "--port=0", "--device=cpu"], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip()
        assert url, f"lamina {' '.join(arguments)} did not start"
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            where = container[probe]["httpGet"]
            assert where["port"] in (port, container["ports"][0]["name"]), where
            with urllib.request.urlopen(url + where["path"], timeout=60) as answer:
                assert answer.status == 200, where
    finally:
        server.terminate()
        server.wait(60)


def main():
    found = {}
    for path in sorted(manifests.glob("*/*.yaml")):
        for manifest in yaml.safe_load_all(path.read_text()):
            check(manifest)
            found[manifest["kind"]] = manifest
    assert {"Deployment", "Service", "ServingRuntime", "InferenceService"} <= set(found), found.keys()
    expect_refused(found["Deployment"], "spec", "template", "spec", "containers", 0, "livenessProbe")
    expect_refused(found["ServingRuntime"], "spec", "containers", 0, "livenessProbe")
    expect_refused(found["InferenceService"], "spec", "predictor", "model")
    with tempfile.TemporaryDirectory() as folder:
        check_server(found["Deployment"]["spec"]["template"]["spec"]["containers"][0], pathlib.Path(folder))
        check_server(found["ServingRuntime"]["spec"]["containers"][0], pathlib.Path(folder))

    if not shutil.which("kubectl"):
        print("not checked: the variants with a GPU, because there is no kubectl")
        return
    for vendor, resource in {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "intel": "gpu.intel.com/i915"}.items():
        text = subprocess.run(["kubectl", "kustomize", manifests / vendor], check=True, capture_output=True).stdout
        for manifest in yaml.safe_load_all(text):
            check(manifest)
            if manifest["kind"] == "Deployment":
                container = manifest["spec"]["template"]["spec"]["containers"][0]
                assert container["resources"]["limits"][resource] == 1, container
                assert container["livenessProbe"] and container["image"], container


main()
print("the manifests are as the schemas want them, and the server as the manifests do")
