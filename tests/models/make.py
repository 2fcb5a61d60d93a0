"""Results of PyTorch for whole systems, with which tests/models compares Lamina.

    /usr/bin/python3 tests/models/make.py

golden/SYSTEM.safetensors: in.NAME, out.NAME, and weight.NAME as transformer.hpp names them. The test builds the same
system with lamina::build(), gives it these weights, and compares.
converted/MODEL: model folders made by tools/from_torch.py, each with an expected.safetensors of in.NAME and out.NAME,
and, where it generates text, an expected.tsv of prompts and what PyTorch continues them with.

PyTorch computes in float64 from weights that float32 holds exactly. Needs Python 3.9 and PyTorch.
"""

import math
import pathlib
import shutil
import sys
import tempfile

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))
import from_torch  # noqa: E402
from from_torch import safetensors  # noqa: E402
from golden import parameters, random, stored  # noqa: E402

B, S, T, C, HEADS, HIDDEN, SOURCES, TARGETS = 2, 5, 4, 8, 2, 12, 11, 13
SIZES = {"d_model": C, "nhead": HEADS, "dim_feedforward": HIDDEN}
LENGTHS = torch.tensor([S, 3])
PADDING = torch.arange(S) >= LENGTHS[:, None]  # (B, S): True is left out
LEFT_PADDING = PADDING.flip(1)
LATER = torch.ones(T, T, dtype=torch.bool).triu(1)  # (T, T): True is left out
BATCH_FIRST = {"batch_first": True}


def keep_mask(rows, columns):
    """(B, rows, columns), 1 where a query may attend; no row is all zeros, for which PyTorch gives NaN."""
    keep = torch.rand(B, rows, columns) < 0.6
    keep[:, :, 0] = True
    return keep


def left_out(keep):
    """A keep mask in PyTorch's form: one per head, True for keys that may not be attended to."""
    return ~keep.repeat_interleave(HEADS, 0)


def positions(length):
    """(length, C), after Vaswani et al., section 3.5."""
    angle = torch.arange(length, dtype=torch.float64)[:, None] / 10000 ** (torch.arange(0, C, 2) / C)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)


def embedded(table, ids, batch_first=True):
    encoding = positions(ids.shape[1 if batch_first else 0])
    return table(ids) * math.sqrt(C) + (encoding if batch_first else encoding[:, None])


def ids(vocabulary, *shape):
    return torch.randint(vocabulary, shape)


def file(path, roles, **metadata):
    tensors = {f"{role}.{name}": stored(t.detach()) for role, named in roles.items() for name, t in named.items()}
    path.write_bytes(safetensors(tensors, {"torch": torch.__version__, **metadata}))


def options(**chosen):
    """The arguments of tools/from_torch.py."""
    made = from_torch.arguments(["STATE.pt", "DIR", "--heads", str(HEADS)])
    for name, value in chosen.items():
        assert hasattr(made, name), name
        setattr(made, name, value)
    return made


def golden(name, modules, inputs, outputs, **chosen):
    """golden/NAME.safetensors; `modules` by the prefix that their keys have in the state dict."""
    state = {prefix + key: t for prefix, module in modules.items() for key, t in module.state_dict().items()}
    _, weights = from_torch.convert(state, options(**chosen))
    file(HERE / "golden" / f"{name}.safetensors", {"weight": weights, "in": inputs, "out": outputs})


def converted(name, state, inputs, outputs, **chosen):
    """Writes converted/NAME: the model folder of a state dict, and its expected results. Returns the folder."""
    folder = HERE / "converted" / name
    shutil.rmtree(folder, ignore_errors=True)
    made = options(name=name, **chosen)
    model, weights = from_torch.convert(state, made)
    from_torch.write(folder, model, weights, from_torch.texts_of(made))
    file(folder / "expected.safetensors", {"in": inputs, "out": outputs})
    return folder


def encoder(layer, layers=2, norm=True):
    return parameters(nn.TransformerEncoder(layer, layers, nn.LayerNorm(C) if norm else None))


def decoder(layer, layers=2, norm=True):
    return parameters(nn.TransformerDecoder(layer, layers, nn.LayerNorm(C) if norm else None))


def stacks():
    """TransformerLayer, Encoder and Decoder: on vectors, in both norms and layouts, with every kind of mask."""
    x = random(B, S, C)
    alone = encoder(nn.TransformerEncoderLayer(**SIZES, **BATCH_FIRST, norm_first=True), 1, norm=False)
    golden("layer_pre_norm", {"": alone}, {"source": x, "source_lengths": LENGTHS},
           {"memory": alone(x, src_key_padding_mask=PADDING)}, norm_first=True)
    alone = encoder(nn.TransformerEncoderLayer(**SIZES, activation="gelu", layer_norm_eps=1e-3), 1, norm=False)
    x = random(S, B, C)
    golden("layer_post_norm", {"": alone}, {"source": x, "source_lengths": LENGTHS},
           {"memory": alone(x, src_key_padding_mask=PADDING)})
    alone = decoder(nn.TransformerDecoderLayer(**SIZES, norm_first=True), 1, norm=False)
    x, memory = random(T, B, C), random(S, B, C)
    golden("layer_source_attention", {"": alone}, {"target": x, "memory": memory, "source_lengths": LENGTHS},
           {"decoded": alone(x, memory, LATER, memory_key_padding_mask=PADDING)}, norm_first=True)

    stack = encoder(nn.TransformerEncoderLayer(**SIZES, norm_first=True))
    x, keep = random(S, B, C), keep_mask(S, S)
    golden("encoder", {"": stack}, {"source": x, "source_mask": keep}, {"memory": stack(x, left_out(keep))},
           norm_first=True)
    stack = decoder(nn.TransformerDecoderLayer(**SIZES, **BATCH_FIRST))
    x, memory, own, other = random(B, T, C), random(B, S, C), keep_mask(T, T), keep_mask(T, S)
    golden("decoder", {"": stack}, {"target": x, "memory": memory, "target_mask": own, "memory_mask": other},
           {"decoded": stack(x, memory, left_out(own & ~LATER), left_out(other))})


def ends():
    """EmbeddingsWithPositionalEncoding and Generator."""
    table = parameters(nn.Embedding(TARGETS, C))
    for name, shape, batch_first in (("embedding", (B, T), True), ("embedding_sequence_first", (T, B), False)):
        tokens = ids(TARGETS, *shape)
        file(HERE / "golden" / f"{name}.safetensors",
             {"weight": {"tokens.embedding.table": table.weight}, "in": {"ids": tokens},
              "out": {"embedded": embedded(table, tokens, batch_first)}})
    linear, x = parameters(nn.Linear(C, TARGETS)), random(B, T, C)
    file(HERE / "golden" / "generator.safetensors",
         {"weight": {f"generator.{key}": t for key, t in linear.state_dict().items()}, "in": {"decoded": x},
          "out": {"probabilities": linear(x).softmax(-1)}})


def whole(batch_first, padding=PADDING, **settings):
    """The modules of an encoder-decoder, its inputs, and its outputs under source padding and a causal target."""
    transformer = parameters(nn.Transformer(**SIZES, num_encoder_layers=2, num_decoder_layers=2,
                                            batch_first=batch_first, **settings))
    modules = {"": transformer, "source.": parameters(nn.Embedding(SOURCES, C)),
               "target.": parameters(nn.Embedding(TARGETS, C)), "generator.": parameters(nn.Linear(C, TARGETS))}
    source, target = ids(SOURCES, B, S), ids(TARGETS, B, T)
    if not batch_first:
        source, target = source.T, target.T
    memory = transformer.encoder(embedded(modules["source."], source, batch_first), src_key_padding_mask=padding)
    decoded = transformer.decoder(embedded(modules["target."], target, batch_first), memory, LATER,
                                  memory_key_padding_mask=padding)
    inputs = {"source": source, "target": target, "position": torch.zeros(B, dtype=torch.int32)}
    inputs |= {"source_lengths": LENGTHS} if padding is PADDING else {"source_mask": ~padding}
    return modules, inputs, {"memory": memory, "log_probabilities": modules["generator."](decoded).log_softmax(-1)}


KEYS = {"source_embedding": "source.weight", "target_embedding": "target.weight", "generator": "generator"}


def systems():
    """EncoderDecoder, EncoderOnly and DecoderOnly: from ids to probabilities."""
    golden("encoder_decoder", *whole(True, norm_first=True), **KEYS, norm_first=True)
    golden("encoder_decoder_sequence_first", *whole(False, activation="gelu"), **KEYS)
    golden("encoder_decoder_key_mask", *whole(True, LEFT_PADDING), **KEYS)

    stack = encoder(nn.TransformerEncoderLayer(**SIZES, **BATCH_FIRST, norm_first=True))
    table, tokens = parameters(nn.Embedding(SOURCES, C)), ids(SOURCES, B, S)
    golden("encoder_only", {"": stack, "source.": table}, {"source": tokens, "source_lengths": LENGTHS},
           {"memory": stack(embedded(table, tokens), src_key_padding_mask=PADDING)},
           source_embedding="source.weight", norm_first=True)

    # As in PyTorch, a decoder without a source is an encoder that does not look ahead; only the names differ.
    linear, tokens = parameters(nn.Linear(C, SOURCES)), tokens[:, :T]
    modules = {"": stack, "source.": table, "generator.": linear}
    state = {prefix + key: t for prefix, module in modules.items() for key, t in module.state_dict().items()}
    _, weights = from_torch.convert(state, options(source_embedding="source.weight", generator="generator"))
    file(HERE / "golden" / "decoder_only.safetensors",
         {"weight": {name.replace("encoder.", "decoder."): t for name, t in weights.items()},
          "in": {"target": tokens, "position": torch.zeros(B, dtype=torch.int32)},
          "out": {"logits": linear(stack(embedded(table, tokens), LATER))}})


def conversions():
    """The conversion of each module by tools/from_torch.py."""
    modules, inputs, outputs = whole(True)
    state = {prefix + key: t for prefix, module in modules.items() for key, t in module.state_dict().items()}
    converted("transformer", state, inputs, outputs, **KEYS)

    stack, x = encoder(nn.TransformerEncoderLayer(**SIZES, norm_first=True, activation="gelu"), norm=False), random(S, B, C)
    converted("encoder_on_vectors", stack.state_dict(), {"source": x}, {"memory": stack(x)},
              norm_first=True, activation="gelu", sequence_first=True, mask="none")

    stack = decoder(nn.TransformerDecoderLayer(**SIZES, **BATCH_FIRST, layer_norm_eps=1e-3))
    stack.norm.eps = 1e-3
    x, memory, own, other = random(B, T, C), random(B, S, C), keep_mask(T, T), keep_mask(T, S)
    converted("decoder_on_vectors", stack.state_dict(),
              {"target": x, "memory": memory, "target_mask": own, "memory_mask": other},
              {"decoded": stack(x, memory, left_out(own & ~LATER), left_out(other))}, mask="keep", eps=1e-3)


def positions_settings():
    """EmbeddingsWithPositionalEncoding with other positions than interleaved sinusoids."""
    table, tokens = parameters(nn.Embedding(TARGETS, C)), ids(TARGETS, T, B)
    sinusoids = positions(T)
    halves = torch.cat((sinusoids[:, 0::2], sinusoids[:, 1::2]), 1)
    file(HERE / "golden" / "embedding_halves.safetensors",
         {"weight": {"tokens.embedding.table": table.weight}, "in": {"ids": tokens},
          "out": {"embedded": table(tokens) * math.sqrt(C) + halves[:, None]}})
    table, places, tokens = parameters(nn.Embedding(TARGETS, C)), parameters(nn.Embedding(7, C)), ids(TARGETS, B, T)
    file(HERE / "golden" / "embedding_learned.safetensors",
         {"weight": {"tokens.embedding.table": table.weight, "tokens.positions.table": places.weight},
          "in": {"ids": tokens}, "out": {"embedded": table(tokens) * math.sqrt(C) + places(torch.arange(T))}})


def language_model():
    """The conversion of a causal encoder with a learned table by tools/from_torch.py, also with text."""
    tokens = ["<s>", "</s>", *"abcdefghi"]
    modules = {"net.": encoder(nn.TransformerEncoderLayer(**SIZES, **BATCH_FIRST, norm_first=True)),
               "tokens.": parameters(nn.Embedding(len(tokens), C)), "head.": parameters(nn.Linear(C, len(tokens)))}
    with torch.no_grad():  # else the likeliest token is the same after any text
        modules["head."].bias.zero_()
        modules["net."].norm.bias.zero_()
        modules["tokens."].weight.mul_(4)
    places = random(1, 12, C)
    state = {prefix + key: t for prefix, module in modules.items() for key, t in module.state_dict().items()}
    state |= {"places": places, "counter": torch.zeros(1)}

    def log_probabilities(target):
        length = target.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        x = modules["tokens."](target) + places[:, :length]
        return modules["head."](modules["net."](x, later)).log_softmax(-1)

    def continued(prompt, most=8):
        """The continuation of a prompt by the likeliest token each time, until the end or the last position."""
        written = [0, *map(tokens.index, prompt)]
        while len(written) < min(1 + len(prompt) + most, places.shape[1] + 1):
            written.append(int(log_probabilities(torch.tensor([written]))[0, -1].argmax()))
            if written[-1] == 1:
                break
        return [tokens[token] for token in written[1 + len(prompt):] if token != 1]

    with tempfile.TemporaryDirectory() as made:
        vocabulary = pathlib.Path(made) / "tokens.txt"
        vocabulary.write_text("\n".join(tokens) + "\n", encoding="utf-8")
        target = ids(len(tokens), B, T)
        folder = converted("language_model", state,
                           {"target": target, "position": torch.zeros(B, dtype=torch.int32)},
                           {"log_probabilities": log_probabilities(target)}, causal_encoder=True, norm_first=True,
                           prefix="net.", source_embedding="tokens.weight", generator="head", positions="places",
                           embedding_scale=1, ignore=["counter"], target_vocab=str(vocabulary), max_length=8)
    prompts = ["", "a", "b c", "d e f g", "h i a", "g g g g g g g g g"]
    lines = [f"{prompt}\t{' '.join(continued(prompt.split()))}\n" for prompt in prompts]
    (folder / "expected.tsv").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    torch.manual_seed(20170612)
    (HERE / "golden").mkdir(exist_ok=True)
    # The order matters, because each draws random numbers: add new ones at the end.
    for make in (stacks, ends, systems, conversions, positions_settings, language_model):
        make()
