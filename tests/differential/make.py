"""Writes digests/: what transformers computes from changed model files.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors gguf
    venv/bin/python tests/differential/make.py                 writes all of digests/
    venv/bin/python tests/differential/make.py bert llama      writes those of these model types
    venv/bin/python tests/differential/make.py --check [...]   compares transformers with what is there, writes nothing

A digest has one model's config.json and the kinds of its tensors (models.py), changes of these files (changes.py), and
for each change the number of a result: why transformers refuses the files, or a few of the values that it computes
(oracle.py). differential_test.cpp makes the same files and compares what Lamina computes. NAME.gguf.json is the same for
a GGUF file, with its metadata as the config (gguf_models.py).
"""

import collections
import json
import pathlib
import sys

here = pathlib.Path(__file__).parent
folder = here / "digests"


def changes_of(base):
    seen = set()
    for change in base.changes():
        change = {kind: what for kind, what in change.items() if what}
        text = json.dumps(change, sort_keys=True)
        if text not in seen:
            seen.add(text)
            yield change


def write(base):
    import oracle
    reader, results, lines = base.oracle(), [], []
    refusals = {}
    for change in changes_of(base):
        verdict = reader.verdict(change)
        if "refused" in verdict:
            number = refusals.get(verdict["refused"])
        else:
            number = next((i for i, other in enumerate(results) if oracle.close(verdict, other)
                           and "refused" not in other), None)
        if number is None:
            number = len(results)
            results.append(verdict)
            if "refused" in verdict:
                refusals[verdict["refused"]] = number
        lines.append(compact([change, number]))
    if "refused" in results[0]:
        sys.exit(f"{base.name}: {results[0]['refused']}")
    header = {"model_type": base.family} | getattr(base, "header", {})
    text = ('%s,\n"config": %s,\n"tensors": {\n%s},\n"results": [\n%s],\n"changes": [\n%s]}\n' % (
        json.dumps(header)[:-1], compact(base.config),
        ",\n".join(f"{json.dumps(name)}: {compact(kind)}" for name, kind in base.tensors.items()),
        ",\n".join(compact(result) for result in results), ",\n".join(lines)))
    temporary = folder / f".{base.name}.json"
    temporary.write_text(text)
    temporary.rename(folder / f"{base.name}.json")
    print(f"{base.name}: {len(lines)} changes, {len(results)} results, {len(text) // 1024} KiB", flush=True)


def tagged(value):
    """With infinity as transformers writes it, because JSON has none."""
    if isinstance(value, dict):
        return {key: tagged(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [tagged(item) for item in value]
    return {"__float__": "Infinity"} if value == float("inf") else value


def untagged(value):
    return float(value["__float__"]) if "__float__" in value else value


def compact(value):
    return json.dumps(tagged(value), separators=(",", ":"))


def check(base):
    """The number of changes of which transformers makes something else than the digest says."""
    import oracle
    known = json.loads((folder / f"{base.name}.json").read_text(), object_hook=untagged)
    reader, wrong = base.oracle(), 0
    for change, number in known["changes"]:
        verdict = reader.verdict(change)
        if not oracle.close(verdict, known["results"][number]):
            wrong += 1
            print(f"{base.name}: {compact(change)}: now {compact(verdict)}, before {compact(known['results'][number])}")
    fresh = {compact(change) for change in changes_of(base)}
    listed = {compact(change) for change, _ in known["changes"]}
    if known["config"] != base.config or known["tensors"] != base.tensors or fresh != listed:
        wrong += 1
        print(f"{base.name}: another model, or other changes, than make.py would write now")
    print(f"{base.name}: {len(known['changes'])} changes, {wrong} differ", flush=True)
    return wrong


def main():
    import deberta
    import dinov3
    import esm
    import gemma4
    import gguf_models
    import latent
    import layout
    import models
    import popular
    import speech
    checking, wanted = "--check" in sys.argv, [name for name in sys.argv[1:] if not name.startswith("-")]
    folder.mkdir(exist_ok=True)
    bases = [*models.plain_models(), *popular.popular_models(), *map(gguf_models.Gguf, gguf_models.ARCHITECTURES)]
    for family in (latent, layout, gemma4, esm, deberta, dinov3, speech):
        bases += [*family.plain_models(), *family.popular_models()]
    if twice := [name for name, count in collections.Counter(b.name for b in bases).items() if count > 1]:
        sys.exit(f"two models have the name {twice[0]}, and so the same digest")
    bases = [b for b in bases if not wanted or b.family in wanted or b.name in wanted]
    if not checking:
        for base in bases:
            write(base)
    elif sum(check(base) for base in bases):
        sys.exit(1)


if __name__ == "__main__":
    main()
