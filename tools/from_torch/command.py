"""The command line."""

import argparse
import pathlib
import re
import sys

from .convert import convert
from .files import first_line, read, texts_of, write
from .state import Refused, missing, some, torch
from .text import LONGEST_GENERATION

MOST_POSITIONS = 1 << 31


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"from_torch.py: error: {message}\n")


def number(kind, least, most):
    """The type of an option that takes a number from `least` to `most`."""
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:  # NaN is neither
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"expected {what} from {least} to {most}, found '{text}'")
        return value
    return parse


def arguments(argv=None):
    parser = Parser(description="Converts a trained PyTorch module into a Lamina model folder.",
                    epilog="docs/from_pytorch.md tells more.", allow_abbrev=False)
    add = parser.add_argument
    add("state", metavar="STATE.pt", help="state dict, saved by torch.save()")
    add("folder", metavar="DIR", help="model folder to write; must be absent or empty")
    add("--heads", type=number(int, 1, 1 << 20), metavar="N", required=True, help="nhead of the module; always needed")
    add("--norm-first", action="store_true", help="the module has norm_first=True")
    add("--sequence-first", action="store_true", help="graphs take (T, B, C), like modules without batch_first=True")
    add("--activation", choices=("relu", "gelu"), default="relu")
    add("--eps", type=number(float, 0, 1), metavar="X", default=1e-5, help="layer_norm_eps; default: 1e-5")
    add("--mask", choices=("lengths", "keys", "keep", "none"), default="lengths",
        help="how padding is given: as lengths, as a 1 or 0 for each key, or for each query and key, or not at all")
    add("--not-causal", action="store_true", help="let the decoder attend to later tokens, too")
    add("--causal-encoder", action="store_true",
        help="the encoder attends to no later tokens; an nn.TransformerEncoder becomes a language model")
    add("--source-embedding", metavar="KEY",
        help="weight of an nn.Embedding; the encoder, or language model, then takes ids")
    add("--target-embedding", metavar="KEY", help="the same for the decoder; may be the same key")
    add("--embedding-scale", type=number(float, -1e30, 1e30), metavar="X",
        help="factor of the embeddings; default: sqrt(d_model)")
    add("--positions", metavar="sinusoids|none|KEY", default="sinusoids",
        help="added to embeddings; KEY: a learned table (max_len, d_model)")
    add("--max-len", type=number(int, 1, MOST_POSITIONS), metavar="N",
        help="number of positions of sinusoids; default: 5000")
    add("--generator", metavar="KEY", help="an nn.Linear after the last layer; log_softmax follows it")
    add("--prefix", default="", metavar="P", help="beginning of the module's keys in a larger model: \"transformer.\"")
    add("--ignore", action="append", default=[], metavar="GLOB",
        help="leave out these tensors, if nothing uses them: \"pos_encoder.pe\"; may be repeated")
    add("--entry", metavar="NAME", help="entry of the checkpoint that holds the state dict: \"state_dict\"")
    add("--dtype", choices=("float32", "float16", "bfloat16"), default="float32", help="dtype of matrices")
    add("--name", help="name of the model; default: the folder's")
    add("--target-vocab", metavar="FILE",
        help="tokens of the decoder, or language model, one per line; the model then generates text")
    add("--source-vocab", metavar="FILE", help="tokens of the encoder; may be the same file")
    add("--split", choices=("words", "characters"), help="how text is split into tokens; default: words")
    add("--start", metavar="TOKEN", help="token that generation begins with; default: <s>")
    add("--end", metavar="TOKEN", help="token that ends generation; default: </s>")
    add("--max-length", type=number(int, 1, LONGEST_GENERATION), metavar="N",
        help="maximum number of tokens to generate; default: 64")
    options = parser.parse_args(argv)
    options.guessed = False
    if options.name is None:
        options.name = pathlib.Path(options.folder).resolve().name
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,256}", options.name):
        parser.error(f"the model's name is '{options.name}'; expected 1 to 256 letters, digits, '_', '-' and '.': "
                     "choose another with --name")
    return options


def failed(why):
    print(f"from_torch.py: error: {first_line(why)}", file=sys.stderr)
    return 2


def main():
    options = arguments()
    try:
        if torch is None:
            raise Refused(f"{sys.executable}: {missing}; install PyTorch and NumPy (Debian: python3-torch), or run "
                          "this by a Python that has them")
        model, weights = convert(read(options.state, options), options)
        write(options.folder, model, weights, texts_of(options))
    except Refused as error:
        return failed(error)
    except OSError as error:
        return failed(f"{error.filename or options.folder}: {error.strerror}")
    if options.guessed:
        print(f"took the module at --prefix {options.prefix}, the only one in the file", file=sys.stderr)
    if options.outside:
        print(f"converted only '{options.prefix}', which takes vectors; left out: {some(options.outside)}",
              file=sys.stderr)
    count = sum(tensor.numel() for tensor in weights.values())
    print(f"wrote {options.folder}: {count:,} parameters".replace(",", " "), file=sys.stderr)
    return 0
