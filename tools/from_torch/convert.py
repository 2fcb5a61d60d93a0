"""Converts the state dict of a module into the graphs and weights of a model."""

import fnmatch

from .graph import Graph, source_tensors
from .state import Refused, State, flag, some, torch
from .text import generation


def encode_graph(state, options, key, decoder=None):
    """The graph of an encoder whose keys begin with `key`, for a `decoder` whose layers attend to its output."""
    graph = Graph(state, options)
    width = state.take(f"{key}layers.0.linear1.weight", 2).shape[1]
    dims = graph.tokens("S") if options.source_embedding else f"{graph.tokens('S')} {width}"
    source = graph.input("source", "i32" if options.source_embedding else "f32", dims)
    attention = graph.mask(options.mask, "source", "S", "source_mask", "B S S")
    if options.causal_encoder:
        attention["causal"] = True
    x = source
    if options.source_embedding:
        x = graph.embedding("encoder", "source_embedding", source, None, width)
    memory = graph.stack("encoder", key, x, attention, None)
    outputs = {"memory": memory}
    if decoder:
        outputs |= graph.source_projections(decoder, memory)
    if options.generator and options.module == "nn.TransformerEncoder":
        outputs |= graph.generator(options.generator, memory, width)
    return graph.json(outputs), graph.weights


def decode_graph(state, options, key):
    """The graph of a decoder whose keys begin with `key`. A language model has no source."""
    alone = options.module == "nn.TransformerEncoder"  # a language model
    embedding = "source_embedding" if alone else "target_embedding"
    graph = Graph(state, options)
    width = state.take(f"{key}layers.0.linear1.weight", 2).shape[1]
    takes_ids = getattr(options, embedding) is not None
    dims = graph.tokens("T") if takes_ids else f"{graph.tokens('T')} {width}"
    target = graph.input("target", "i32" if takes_ids else "f32", dims)
    source = None
    if not alone:
        whole = options.module == "nn.Transformer"  # its encoder gives the keys and values of the memory
        source = {"memory": "" if whole else "memory"}
        for name in source_tensors(state.layers(f"{key}layers.")) if whole else ["memory"]:
            graph.input(name, "f32", f"{graph.tokens('S')} {width}")
        source["mask"] = graph.mask(options.mask, "source", "S", "memory_mask", "B T S")
    # Padding after a causal sequence does not affect the tokens before it, so lengths are not needed.
    idle = options.mask == "lengths" or (options.mask == "keys" and not alone)
    attention = graph.mask("none" if idle else options.mask, "target", "T", "target_mask", "B T T")
    position = None
    if takes_ids and not attention:  # keys of earlier steps cannot be masked
        position = graph.input("position", "i32", "B")
        attention["position"] = position
    if not options.not_causal:
        attention["causal"] = True
    x = graph.embedding("decoder", embedding, target, position, width) if takes_ids else target
    decoded = graph.stack("decoder", key, x, attention, source)
    outputs = graph.generator(options.generator, decoded, width) if options.generator else {"decoded": decoded}
    return graph.json(outputs), graph.weights


def find_prefix(state, options):
    """Sets the prefix of the module's keys, if it is not given and only one is possible."""
    possible = state.prefixes()
    listed = " or ".join(f"--prefix {each}" for each in possible if each)
    if options.prefix:
        if not any(name.startswith(options.prefix) for name in state.tensors):
            better = f"try {listed}" if listed else "leave out --prefix" if possible else f"the file has {state.keys()}"
            raise Refused(f"no tensor begins with '{options.prefix}', which --prefix names; {better}")
    elif len(possible) > 1 and "" not in possible:
        raise Refused(f"the file has {len(possible)} modules that can be converted: choose {listed}")
    elif len(possible) == 1:
        options.prefix = possible[0]
        options.guessed = bool(options.prefix)


def module_of(state, prefix):
    """The module that the keys after `prefix` belong to."""
    if state.layers(f"{prefix}encoder.layers.") > 0 and state.layers(f"{prefix}decoder.layers.") > 0:
        return "nn.Transformer"
    if state.layers(f"{prefix}layers.") == 0:
        raise Refused(f"no '{prefix}layers.0.' and no '{prefix}encoder.layers.0.' with '{prefix}decoder.layers.0.' in "
                      "the state dict: is it that of an nn.TransformerEncoder, nn.TransformerDecoder or "
                      "nn.Transformer? --prefix takes a part of a model, its last dot included; the file has "
                      + state.keys())
    source = state.has(f"{prefix}layers.0.multihead_attn.in_proj_weight")
    return "nn.TransformerDecoder" if source else "nn.TransformerEncoder"


def check_idle(options):
    """Refuses options that would have no effect."""
    module = options.module

    def refuse(option, why):
        if getattr(options, option) not in (None, False):
            raise Refused(f"{flag(option)} {why}")

    if module == "nn.TransformerEncoder":
        refuse("target_embedding", "needs a decoder, and this is an nn.TransformerEncoder: --source-embedding "
                                   "names its embedding, and --causal-encoder makes it a language model")
        refuse("not_causal", "needs a decoder, and this is an nn.TransformerEncoder: it is causal only "
                             "with --causal-encoder")
    if module == "nn.TransformerDecoder":
        refuse("source_embedding", "needs an encoder, and this is an nn.TransformerDecoder: --target-embedding "
                                   "names its embedding")
        refuse("causal_encoder", "needs an encoder, and this is an nn.TransformerDecoder: it is causal already")
    embeds = options.source_embedding or options.target_embedding
    for option in ("embedding_scale", "max_len"):
        if not embeds:
            refuse(option, "needs --source-embedding or --target-embedding: vectors are used unchanged")
    if not embeds and options.positions != "sinusoids":
        raise Refused(f"--positions {options.positions} needs --source-embedding or --target-embedding: vectors "
                      "are used unchanged")
    if options.positions != "sinusoids":
        refuse("max_len", f"needs sinusoids, and --positions is {options.positions}")
    if not options.target_vocab:
        for option in ("source_vocab", "split", "start", "end", "max_length"):
            refuse(option, "needs --target-vocab FILE: without it no text is generated")


def check_left(state, options):
    """Checks that every tensor was used, is outside of the converted module, or is ignored by name."""
    ignored, options.outside = set(), []
    for pattern in options.ignore:
        matched = set(fnmatch.filter(state.left, pattern))
        if not matched:
            raise Refused(f"--ignore {pattern}: no tensor that is left over matches it; leave the option out")
        ignored |= matched
    left = sorted(state.left - ignored)
    # With only --prefix, one module is converted as a model on vectors. If options name the parts around it, the whole
    # model is converted.
    parts = (options.source_embedding, options.target_embedding, options.generator)
    if not any(parts):
        outside = [name for name in left if not name.startswith(options.prefix)]
        left = [name for name in left if name.startswith(options.prefix)]
        options.outside = outside
    if left:
        raise Refused(f"left over: {some(left)}; name embeddings, --positions and the --generator, take one module "
                      "with --prefix alone, or leave out with --ignore NAME what the model does not compute with")


def convert(tensors, options):
    """The model.json (as a dictionary) and the weights of a state dict. Throws Refused."""
    state = State({name: tensor.detach() for name, tensor in tensors.items()})
    if not state.tensors:
        raise Refused("the state dict is empty")
    find_prefix(state, options)
    prefix = options.prefix
    options.module = module = module_of(state, prefix)
    check_idle(options)
    graphs, weights, whole = {}, {}, module == "nn.Transformer"
    language_model = module == "nn.TransformerEncoder" and options.causal_encoder
    if module != "nn.TransformerDecoder" and not language_model:
        graphs["encode"], more = (encode_graph(state, options, f"{prefix}encoder.", f"{prefix}decoder.") if whole
                                  else encode_graph(state, options, prefix))
        weights |= more
    if module != "nn.TransformerEncoder" or language_model:
        graphs["decode"], more = decode_graph(state, options, f"{prefix}decoder." if whole else prefix)
        weights |= more
    check_left(state, options)
    norm = "pre" if options.norm_first else "post"
    called = f"{module} with a causal mask" if language_model else module
    model = {"format": "lamina/1", "name": options.name, "summary": f"From PyTorch's {called}, {norm}-norm",
             "graphs": graphs}
    if options.target_vocab:
        model["generation"] = generation(graphs, weights, options)
    return model, {name: stored(tensor, options.dtype) for name, tensor in weights.items()}


def stored(tensor, dtype):
    """Matrices in the requested dtype, vectors in float32."""
    return tensor.to(getattr(torch, dtype) if tensor.dim() > 1 else torch.float32).contiguous()
