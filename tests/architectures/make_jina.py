"""Tiny models of JinaBERT, which transformers does not have: its BERT with layers written from the paper (arXiv:2310.19923)
and from the code that published files name (huggingface.co/jinaai/jina-bert-implementation, jina-bert-v2-qk-post-norm)."""

import json
import math

import torch
import transformers

from make_encoders import encoder
from tiny import here, is_wanted, vocabulary


class Nowhere(torch.nn.Module):
    """No positions are added to embeddings."""

    def forward(self, positions):
        return torch.zeros(())


def slopes(heads):
    """Of ALiBi (arXiv:2108.12409): the powers of 2^(-8/n) for a power of two, and every other one of twice as many."""
    n = 2 ** math.floor(math.log2(heads))
    powers = [2 ** (-8 * (i + 1) / n) for i in range(n)]
    return powers if n == heads else powers + slopes(2 * n)[0::2][:heads - n]


class Layer(torch.nn.Module):
    def __init__(self, config, of_code):
        super().__init__()
        width, linear = config.hidden_size, torch.nn.Linear
        norm = lambda: torch.nn.LayerNorm(width, eps=config.layer_norm_eps)
        modules = lambda **named: torch.nn.ModuleDict(named)
        of_self = modules(query=linear(width, width), key=linear(width, width), value=linear(width, width))
        wide = linear(width, 2 * config.intermediate_size, bias=False)
        down = linear(config.intermediate_size, width)
        if of_code:
            of_self.update(dict(layer_norm_q=norm(), layer_norm_k=norm()))
            self.layer_norm_1, self.layer_norm_2 = norm(), norm()
            self.mlp = modules(up_gated_layer=wide, down_layer=down)
        else:
            self.mlp = modules(gated_layers=wide, wo=down, layernorm=norm())
        self.attention = modules(self=of_self, output=modules(dense=linear(width, width), LayerNorm=norm()))
        self.heads, self.of_code = config.num_attention_heads, of_code
        self.act = torch.relu if config.feed_forward_type == "reglu" else torch.nn.functional.gelu

    def attended(self, x, mask):
        part = self.attention["self"]
        q, k, v = part["query"](x), part["key"](x), part["value"](x)
        if self.of_code:
            q, k = part["layer_norm_q"](q), part["layer_norm_k"](k)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        places = torch.arange(x.shape[1])
        distance = (places[:, None] - places).abs()
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        scores = scores - torch.tensor(slopes(self.heads), dtype=x.dtype)[:, None, None] * distance
        scores = scores if mask is None else scores + mask
        out = self.attention["output"]
        return out["LayerNorm"](out["dense"]((scores.softmax(-1) @ v).transpose(1, 2).flatten(-2)) + x)

    def forward(self, x, attention_mask=None, *_, **__):
        tokens, mlp = self.attended(x, attention_mask), self.mlp
        if self.of_code:
            tokens = self.layer_norm_1(x + tokens)
            up, gate = mlp["up_gated_layer"](tokens).chunk(2, -1)
            return self.layer_norm_2(tokens + mlp["down_layer"](up * self.act(gate)))
        gate, up = mlp["gated_layers"](tokens).chunk(2, -1)
        return mlp["layernorm"](mlp["wo"](self.act(gate) * up) + tokens)


def jina(name, model_class, outputs, of_code=False, feed_forward_type="geglu", **more):
    config = transformers.BertConfig(**dict(
        vocab_size=vocabulary, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=44,
        max_position_embeddings=64, pad_token_id=0, attn_implementation="eager") | more)
    config.feed_forward_type = feed_forward_type
    model = model_class(config)
    model.base_model.embeddings.position_embeddings = Nowhere()
    for i in range(config.num_hidden_layers):
        model.base_model.encoder.layer[i] = Layer(config, of_code)
    encoder(name, model, outputs, types=2)
    if is_wanted(name):
        file = here / name / "config.json"
        written = json.loads(file.read_text())
        code = "jina-bert-v2-qk-post-norm" if of_code else "jina-bert-implementation"
        kind = "Jina" + written["architectures"][0]
        written |= {"architectures": [kind], "position_embedding_type": "alibi", "emb_pooler": "mean",
                    "auto_map": {"AutoModel": f"jinaai/{code}--modeling_bert.{kind}"}, "attn_implementation": "torch"}
        file.write_text(json.dumps(written, indent=2) + "\n")


def jina_encoders():
    hidden = lambda r: {"hidden": r.last_hidden_state, "pooled": r.pooler_output}
    logits = lambda r: {"logits": r.logits}
    jina("jina_bert", transformers.BertModel, hidden)
    jina("jina_bert_code", transformers.BertModel, hidden, of_code=True, layer_norm_eps=1e-5)
    jina("jina_bert_masked", transformers.BertForMaskedLM, logits, num_attention_heads=4, hidden_act="relu")
    jina("jina_bert_texts", transformers.BertForSequenceClassification, logits, feed_forward_type="reglu", num_labels=3)
