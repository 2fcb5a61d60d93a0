"""Reads files of torch.save(), and writes model folders."""

import json
import os
import pathlib
import shutil
import struct
import tempfile

from .state import Refused, some, torch

DTYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "int32": "I32"}  # PyTorch's, safetensors'


def read(path, options):
    """The state dict in a file made by torch.save()."""
    try:
        # Without weights_only, a .pt file runs any code that its author put into it.
        content = torch.load(path, map_location="cpu", weights_only=True)
    except TypeError:
        raise Refused(f"PyTorch {torch.__version__} cannot load weights only; 1.13 and newer can") from None
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except Exception as error:  # a pickle may raise anything
        if "WeightsUnpickler error: Unsupported" in str(error):
            raise Refused(f"{path}: it holds a whole module or other objects, which only their program can load: "
                          "there, save its tensors with torch.save(model.state_dict(), \"model.pt\")") from None
        raise Refused(f"{path}: expected a state dict saved by torch.save(), found: {first_line(error)}") from None
    if options.entry:
        if not isinstance(content, dict) or options.entry not in content:
            raise Refused(f"{path}: no entry '{options.entry}'; {entries(content)}")
        content = content[options.entry]
    if not is_state_dict(content):
        raise Refused(f"{path}: expected a dictionary of tensors; {entries(content)}")
    return content


def is_state_dict(content):
    return isinstance(content, dict) and all(isinstance(name, str) and isinstance(tensor, torch.Tensor)
                                             for name, tensor in content.items())


def entries(content):
    """What a checkpoint holds, and which of it can be converted."""
    if not isinstance(content, dict):
        return f"found {type(content).__name__}"
    fit = [str(name) for name, part in content.items() if is_state_dict(part) and part]
    others = [str(name) for name in content if str(name) not in fit]
    take = "take one of these with --entry: " + some(fit) if fit else "no entry is a state dict"
    return take + (f"; there are also {some(others)}" if others else "")


def safetensors(tensors, metadata):
    """The bytes of a safetensors file: u64 length of the JSON header, the header, the tensors back to back."""
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        # NumPy has no bfloat16: its bits are passed as int16.
        bits = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
        begin = len(data)
        data += bits.numpy().astype(bits.numpy().dtype.newbyteorder("<")).tobytes()
        dtype = DTYPES[str(tensor.dtype).split(".")[1]]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0]


def readable(value, indent=0):
    """JSON with a line for each layer, as `lamina init` writes it."""
    def one_line(part):
        return json.dumps(part, ensure_ascii=False)

    def item(part, at):
        if isinstance(part, dict) and part and isinstance(list(part.values())[-1], list):
            *first, (last, entries) = part.items()
            start = "".join(f"{one_line(key)}: {one_line(each)}, " for key, each in first)
            return f"{{{start}{one_line(last)}: {readable(entries, at)}}}"
        return one_line(part)

    inner, lines = indent + 2, []
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        start = " " * inner + (f"{one_line(key)}: " if isinstance(value, dict) else "")
        text = item(part, inner) if isinstance(value, list) else one_line(part)
        if isinstance(value, dict) and isinstance(part, (dict, list)) and len(start) + len(text) > 120:
            text = readable(part, inner)
        lines.append(start + text)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(lines) + "\n" + " " * indent + closing


def write(folder, model, weights, texts):
    """Writes a new model folder completely or not at all. `texts`: the files to copy into it, by their names there."""
    folder = pathlib.Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused(f"{folder} exists and is not empty; choose another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    workshop = pathlib.Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    try:
        os.chmod(workshop, 0o777 & ~umask())
        (workshop / "model.safetensors").write_bytes(safetensors(weights, {"format": "pt"}))
        for name, path in texts.items():
            shutil.copyfile(path, workshop / name)
        (workshop / "model.json").write_text(readable(model) + "\n", encoding="utf-8")
        os.replace(workshop, folder)
    except BaseException:
        shutil.rmtree(workshop, ignore_errors=True)
        raise


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def texts_of(options):
    """The files to copy into the model folder, by their names there."""
    given = {"source.txt": options.source_vocab, "target.txt": options.target_vocab}
    return {name: path for name, path in given.items() if path}
