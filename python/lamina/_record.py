"""Records what the PyPI package transformers computes of a model, for `lamina compare --with FILE`.

    python3 _record.py MODEL RECORD.safetensors [TEXT...]

MODEL is a Hugging Face folder or a GGUF file. The record holds inputs, outputs and what each module gave: see
`record`. Exit status 3: a package is missing.
"""

import json
import os
import sys

largest_in_double = 300_000_000  # parameters
steps = 7  # tokens that a decoder is given, if there are no texts: a number that heads rarely have


def _model_class(transformers, config):
    names = config.architectures or []
    known = [getattr(transformers, name) for name in names if hasattr(transformers, name)]
    return known[0] if known else transformers.AutoModel


def _load(path):
    """The model, in double precision unless it is large, and what its files are called."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder, file = (path, None) if os.path.isdir(path) else os.path.split(os.path.abspath(path))
    more = {"gguf_file": file} if file else {}
    config = transformers.AutoConfig.from_pretrained(folder, **more)
    found = _model_class(transformers, config) if not file else transformers.AutoModelForCausalLM
    model, info = found.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True, local_files_only=True, **more
    )
    if info.get("missing_keys"):
        print(f"the file has no {', '.join(sorted(info['missing_keys']))}: transformers made them up", file=sys.stderr)
    if sum(each.numel() for each in model.parameters()) < largest_in_double:
        model = model.to(torch.float64)
    return model.eval(), (folder, more)


def _tokens(place, texts, vocabulary, pad, several):
    """Ids (B, T) padded at their ends, their lengths, and the texts, if there is a tokenizer for them."""
    import torch
    import transformers

    if texts:
        folder, more = place
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, **more)
        rows = [tokenizer(text)["input_ids"] for text in texts]
    else:
        drawn = torch.Generator().manual_seed(1)
        counts = [11, steps] if several else [steps]
        rows = [torch.randint(0, vocabulary, (count,), generator=drawn).tolist() for count in counts]
    width = max(map(len, rows))
    ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
    return ids, torch.tensor([len(row) for row in rows]), texts


def _recorded(model, run, tokens=0):
    """run(), and what each module gave that was called once, in the layout (B, T, ...) or (B, ...)."""
    import torch

    given, calls = {}, {}

    def hook(name):
        def keep(module, inputs, output):
            calls[name] = calls.get(name, 0) + 1
            if isinstance(output, torch.Tensor) and output.is_floating_point():
                given[name] = output
        return keep

    hooks = [module.register_forward_hook(hook(name)) for name, module in model.named_modules() if name]
    with torch.no_grad():
        results = run()
    for each in hooks:
        each.remove()
    if hasattr(model, "final_logits_bias"):  # added to what this module gives; Lamina has one layer for both
        given.pop("lm_head", None)
    # Some models give queries as (B, heads, T, D), which must not be taken for (B, T, heads, D).
    ordered = lambda value: value.dim() < 4 or value.shape[1] == tokens != value.shape[2]
    return results, {name: value for name, value in given.items() if calls[name] == 1 and ordered(value)}


def _clean(values, mask):
    """Rows after the end of a text mean nothing: zeros."""
    fits = lambda value: value.dim() >= 3 and tuple(value.shape[:2]) == tuple(mask.shape)
    return {name: value * mask.reshape(*mask.shape, *[1] * (value.dim() - 2)) if fits(value) else value
            for name, value in values.items()}


def _outputs(results, names):
    out = {ours: results[theirs] for ours, theirs in names.items() if results.get(theirs) is not None}
    if "start_logits" in results and "logits" in names:  # where answers begin and end
        import torch

        out["logits"] = torch.stack([results["start_logits"], results["end_logits"]], -1)
    return out


def _record_decoder(model, place, texts):
    import torch

    ids, lengths, texts = _tokens(place, texts[:1], model.config.vocab_size, 0, several=False)
    results, modules = _recorded(model, lambda: model(input_ids=ids, use_cache=False), ids.shape[1])
    inputs = {"ids": ids, "position": torch.zeros(1, dtype=torch.int32)}
    return [("decode", inputs, _outputs(results, {"logits": "logits"}))], modules, texts


def _record_encoder(model, place, texts):
    import torch

    config = model.config
    pad = config.pad_token_id if config.pad_token_id is not None else 0
    ids, lengths, texts = _tokens(place, texts, config.vocab_size, pad, several=True)
    mask = (torch.arange(ids.shape[1])[None] < lengths[:, None]).to(torch.int64)
    results, modules = _recorded(model, lambda: model(input_ids=ids, attention_mask=mask))
    inputs = {"ids": ids, "lengths": lengths, "token_types": torch.zeros_like(ids)}
    outputs = _outputs(results, {"hidden": "last_hidden_state", "pooled": "pooler_output", "logits": "logits"})
    return [("encode", inputs, _clean(outputs, mask))], _clean(modules, mask), texts


def _record_pages(model, place, texts):
    """Of words at random places, with a random image if the model takes one."""
    import torch

    if texts:
        sys.exit("this model reads pages, and a text does not say where its words stand: leave it out, for random words")
    config = model.config
    ids, lengths, _ = _tokens(place, [], config.vocab_size, config.pad_token_id, several=True)
    length = ids.shape[1]
    mask = (torch.arange(length)[None] < lengths[:, None]).to(torch.int64)
    ids = torch.where((ids == config.pad_token_id) & (mask == 1), config.pad_token_id + 1, ids)
    drawn = torch.Generator().manual_seed(2)
    boxes = torch.randint(0, min(config.max_2d_position_embeddings, 1001), (*ids.shape, 4), generator=drawn)
    inputs, more = {"ids": ids, "lengths": lengths, "token_types": torch.zeros_like(ids), "boxes": boxes}, {}
    if config.visual_embed:
        patch, side = config.patch_size, config.input_size // config.patch_size
        pixels = torch.randn(len(ids), 3, config.input_size, config.input_size, generator=drawn)
        in_squares = pixels[:, :, : side * patch, : side * patch].reshape(len(ids), 3, side, patch, side, patch)
        inputs["patches"] = in_squares.permute(0, 2, 4, 1, 3, 5).reshape(len(ids), side * side, -1)
        more["pixel_values"] = pixels.to(model.dtype)
    results, modules = _recorded(model, lambda: model(input_ids=ids, bbox=boxes, attention_mask=mask, **more))
    outputs = _outputs(results, {"hidden": "last_hidden_state", "logits": "logits"})
    if "hidden" in outputs and config.visual_embed:
        outputs["image_hidden"] = outputs["hidden"][:, length:]
        outputs["hidden"] = outputs["hidden"][:, :length]
    if "start_logits" in results:
        outputs["logits"] = outputs["logits"][:, :length]
    return [("encode", inputs, _clean(outputs, mask))], _clean(modules, mask), []


def _record_encoder_decoder(model, place, texts):
    import torch

    config = model.config
    ids, lengths, texts = _tokens(place, texts, config.vocab_size, config.pad_token_id or 0, several=True)
    mask = (torch.arange(ids.shape[1])[None] < lengths[:, None]).to(torch.int64)
    drawn = torch.Generator().manual_seed(2)
    vocabulary = getattr(config, "decoder_vocab_size", None) or config.vocab_size
    target = torch.randint(0, vocabulary, (len(ids), steps), generator=drawn)
    target[:, 0] = config.decoder_start_token_id
    results, modules = _recorded(
        model, lambda: model(input_ids=ids, attention_mask=mask, decoder_input_ids=target, use_cache=False))
    encoded = _clean(_outputs(results, {"hidden": "encoder_last_hidden_state"}), mask)
    position = torch.zeros(len(ids), dtype=torch.int32)
    decode = {"ids": target, "position": position, "lengths": lengths}
    return [("encode", {"ids": ids, "lengths": lengths}, encoded),
            ("decode", decode, _outputs(results, {"logits": "logits"}))], _clean(modules, mask), texts


def _record_speech(model, place, texts):
    import torch
    import transformers

    config = model.config
    drawn = torch.Generator().manual_seed(1)
    samples = torch.randn(1, 2 * 160 * config.max_source_positions, generator=drawn) * 0.1
    extractor = transformers.WhisperFeatureExtractor(feature_size=config.num_mel_bins)
    features = torch.tensor(extractor._np_extract_fbank_features(samples.numpy(), "cpu"), dtype=model.dtype)
    target = torch.randint(0, config.vocab_size, (1, steps), generator=drawn)
    target[:, 0] = config.decoder_start_token_id
    results, modules = _recorded(
        model, lambda: model(input_features=features, decoder_input_ids=target, use_cache=False))
    decode = {"ids": target, "position": torch.zeros(1, dtype=torch.int32)}
    return [("encode", {"samples": samples}, _outputs(results, {"hidden": "encoder_last_hidden_state"})),
            ("decode", decode, _outputs(results, {"logits": "logits"}))], modules, []


def _record_characters(model, place, texts):
    """Of audio: 20 frames, with no samples left over."""
    import torch

    config = model.config
    frames, kernels, strides = 20, config.conv_kernel, config.conv_stride
    samples, lengths = frames, [frames]
    for kernel, stride in reversed(list(zip(kernels, strides))):
        samples = (samples - 1) * stride + kernel
        lengths.append(samples)
    drawn = torch.Generator().manual_seed(1)
    heard = torch.randn(2, samples, generator=drawn, dtype=torch.float32).to(model.dtype)
    results, modules = _recorded(model, lambda: model(heard))
    both = lambda count: torch.full((2,), count, dtype=torch.int32)
    inputs = {"samples": heard[..., None], "lengths": both(frames)}
    if config.feat_extract_norm == "group":
        inputs["norm_lengths"] = both(lengths[-2])
    outputs = _outputs(results, {"hidden": "last_hidden_state", "logits": "logits"})
    return [("encode", inputs, outputs)], modules, []


def _kind_of(model):
    if hasattr(model.config, "conv_kernel") and hasattr(model.config, "num_conv_pos_embeddings"):
        return _record_characters
    if model.config.model_type == "layoutlmv3":
        return _record_pages
    if model.config.model_type == "whisper":
        return _record_speech
    if model.config.is_encoder_decoder:
        return _record_encoder_decoder
    # A causal model masks what follows; its classes end in ForCausalLM or LMHeadModel, or the base class says nothing.
    causal = type(model).__name__.endswith(("ForCausalLM", "LMHeadModel"))
    return _record_decoder if causal else _record_encoder


def record(path, file, texts=()):
    """Runs a model with transformers and writes a record of it to `file`, a safetensors file.

    The tensors are "in.GRAPH.NAME", "out.GRAPH.NAME" and "at.MODULE". Without texts, the inputs are random ids.
    """
    import torch
    import transformers
    from safetensors.torch import save_file

    model, place = _load(os.fspath(path))
    graphs, modules, texts = _kind_of(model)(model, place, list(texts))
    tensors = {f"in.{graph}.{name}": value for graph, inputs, _ in graphs for name, value in inputs.items()}
    tensors |= {f"out.{graph}.{name}": value for graph, _, outputs in graphs for name, value in outputs.items()}
    tensors |= {f"at.{name}": value for name, value in modules.items()}
    stored = lambda v: v.to(torch.float32 if v.is_floating_point() else torch.int32).contiguous().clone()
    about = {"made_by": f"transformers {transformers.__version__}", "graphs": " ".join(graph for graph, _, _ in graphs)}
    if texts:
        about["texts"] = json.dumps(texts)
    temporary = f"{os.fspath(file)}.{os.getpid()}.tmp"
    try:
        save_file({name: stored(value) for name, value in tensors.items()}, temporary, metadata=about)
        os.replace(temporary, file)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


if __name__ == "__main__":
    try:
        record(sys.argv[1], sys.argv[2], sys.argv[3:])
    except ModuleNotFoundError as error:
        sys.exit(print(f"the Python package {error.name} is missing", file=sys.stderr) or 3)
