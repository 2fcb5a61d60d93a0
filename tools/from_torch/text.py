"""The part of model.json that turns text into text."""

import pathlib

from .state import Refused, flag

LONGEST_GENERATION = 100000  # tokens, as model.json allows


def generation(graphs, weights, options):
    """The "generation" block. Reads the vocabularies and compares their sizes with the weights."""
    def refuse(why):
        raise Refused(f"--target-vocab {options.target_vocab}: generation {why}")

    decode = graphs.get("decode")
    if decode is None:
        refuse("needs a decoder; --causal-encoder makes one of an nn.TransformerEncoder trained with a causal mask")
    if options.module == "nn.TransformerDecoder":
        refuse("needs what gives the decoder its memory; take the whole nn.Transformer")
    whole = "encode" in graphs
    if options.sequence_first:
        refuse("needs sequences as (B, T): leave out --sequence-first")
    if options.not_causal:
        refuse("needs a causal decoder: leave out --not-causal")
    if options.mask != "lengths" and not (options.mask == "none" and not whole):
        refuse(f"needs --mask lengths, found {options.mask}: texts of a batch differ in length")
    for option in ("source_embedding", *(("target_embedding",) if whole else ()), "generator"):
        if getattr(options, option) is None:
            refuse(f"needs {flag(option)}: from ids to log probabilities")

    target = vocabulary("target_vocab", options.target_vocab)
    for part, name in (("the embedding", "decoder.embedding.table"), ("the generator", "generator.weight")):
        if weights[name].shape[0] != len(target):
            refuse(f"needs a line for each of the {weights[name].shape[0]} rows of {part}, found {len(target)} lines")
    start, end = options.start or "<s>", options.end or "</s>"
    for option, token in (("--start", start), ("--end", end)):
        if token not in target:
            raise Refused(f"{option} '{token}' is not in {options.target_vocab}; name a token that is")
    positions = [entry["params"]["max_len"] for entry in decode["layers"] if entry.get("type") == "positional_encoding"]
    most = min([LONGEST_GENERATION, *(count - 1 for count in positions)])  # the start token has a position, too
    length = min(64, most) if options.max_length is None else options.max_length
    if not 1 <= length <= most:
        raise Refused(f"--max-length {length}: expected 1 to {most}; the model has so many positions after the start")
    split = {"split": options.split or "words"}
    block = {"decode": "decode", "target_ids": "target", "position": "position", "logits": "log_probabilities",
             "start": start, "end": end, "max_length": length, "target": {"vocabulary": "target.txt", **split}}
    if not whole:
        if options.source_vocab:
            raise Refused("--source-vocab needs an nn.Transformer: a language model has one vocabulary")
        return block
    if not options.source_vocab:
        refuse("of an nn.Transformer needs --source-vocab FILE, too; it may be the same file")
    source, rows = vocabulary("source_vocab", options.source_vocab), weights["encoder.embedding.table"].shape[0]
    if len(source) != rows:
        raise Refused(f"--source-vocab {options.source_vocab}: expected a line for each of the {rows} rows of the "
                      f"embedding, found {len(source)} lines")
    return {"encode": "encode", "source_ids": "source", "source_lengths": "source_lengths", **block,
            "source": {"vocabulary": "source.txt", **split}}


def vocabulary(option, path):
    """The tokens of a file, one per line, as Lamina reads them."""
    try:
        text = pathlib.Path(path).read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise Refused(f"{flag(option)} {path}: {reason}; expected a text file with one token per line") from None
    tokens = [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
    if tokens[-1] == "":
        tokens.pop()  # after the end of the last line
    numbers = {}
    for number, token in enumerate(tokens, 1):
        if token == "":
            raise Refused(f"{flag(option)} {path}: line {number} is empty; expected one token per line")
        if token in numbers:
            raise Refused(f"{flag(option)} {path}: line {number}: '{token}' is already in line {numbers[token]}")
        numbers[token] = number
    return tokens
