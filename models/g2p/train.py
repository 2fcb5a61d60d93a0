#!/usr/bin/env python3
"""Train the g2p model: letters in, ARPAbet phones with stress out.

    models/g2p/train.py --train train.tsv --valid valid.tsv [--out models/g2p] [--minutes 8 | --epochs 60]

The data is one pronunciation a line, `word<TAB>PHONE PHONE ...` (CMUdict; README.md beside this file says where it is
from). Needs PyTorch 1.13 or newer (Debian: python3-torch); uses a CUDA GPU if there is one. The run can be resumed: after
every epoch it saves its state to --checkpoint, and the same command continues from there. At the end it writes
model.safetensors (f16) and the two vocabularies to --out. model.json beside it describes the graphs for the default
sizes; other sizes need their numbers changed there.

The architecture is the encoder-decoder of "Attention Is All You Need" with normalization before each sublayer
(pre-norm), ReLU, sinusoidal positions, embeddings scaled by sqrt(d_model) and a final norm on both sides.
"""
import argparse
import copy
import json
import math
import os
import random
import struct
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

PAD, START, END = 0, 1, 2
SPECIALS = ["<pad>", "<s>", "</s>"]
LETTERS = ["<pad>", "'"] + [chr(c) for c in range(ord("a"), ord("z") + 1)]


def read_tsv(path):
    """[(word, [phone, ...]), ...] in file order."""
    with open(path, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    return [(word, phones.split()) for word, phones in rows]


def sinusoids(length, d_model):
    """(length, d_model): sin in even dimensions, cos in odd ones."""
    position = torch.arange(length, dtype=torch.float64)[:, None]
    rate = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10000.0) / d_model))
    table = torch.zeros(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table.float()


class G2P(nn.Module):
    def __init__(self, letters, phones, d_model, heads, layers, hidden, dropout):
        super().__init__()
        self.scale = math.sqrt(d_model)
        self.letter_table = nn.Embedding(letters, d_model)
        self.phone_table = nn.Embedding(phones, d_model)
        self.register_buffer("positions", sinusoids(64, d_model), persistent=False)
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(d_model, heads, layers, layers, hidden, dropout, "relu",
                                          batch_first=True, norm_first=True)
        self.generator = nn.Linear(d_model, phones)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def embed(self, table, ids):
        return self.dropout(table(ids) * self.scale + self.positions[: ids.shape[1]])

    def encode(self, letters):
        return self.transformer.encoder(self.embed(self.letter_table, letters), src_key_padding_mask=letters == PAD)

    def decode(self, memory, letters, phones):
        t = phones.shape[1]
        causal = torch.ones(t, t, dtype=torch.bool, device=phones.device).triu(1)
        x = self.transformer.decoder(self.embed(self.phone_table, phones), memory, tgt_mask=causal,
                                     memory_key_padding_mask=letters == PAD)
        return self.generator(x)

    def forward(self, letters, phones):
        return self.decode(self.encode(letters), letters, phones)


def tensors(pairs, phone_ids, device):
    """letters (N, S), phones with start and end (N, T), both padded, on the device."""
    letter_ids = {c: i for i, c in enumerate(LETTERS)}
    s = max(len(w) for w, _ in pairs)
    t = max(len(p) for _, p in pairs) + 2
    letters = torch.zeros(len(pairs), s, dtype=torch.long)
    phones = torch.zeros(len(pairs), t, dtype=torch.long)
    for n, (word, ps) in enumerate(pairs):
        letters[n, : len(word)] = torch.tensor([letter_ids[c] for c in word])
        phones[n, : len(ps) + 2] = torch.tensor([START] + [phone_ids[p] for p in ps] + [END])
    return letters.to(device), phones.to(device)


@torch.no_grad()
def greedy(model, letters, max_len=32):
    memory = model.encode(letters)
    out = torch.full((letters.shape[0], 1), START, dtype=torch.long, device=letters.device)
    done = torch.zeros(letters.shape[0], dtype=torch.bool, device=letters.device)
    for _ in range(max_len):
        step = model.decode(memory, letters, out)[:, -1].argmax(-1)
        step[done] = PAD
        done |= step == END
        out = torch.cat([out, step[:, None]], 1)
        if bool(done.all()):
            break
    return out[:, 1:].tolist()


def distance(a, b):
    """Levenshtein distance of two lists."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def score(model, pairs, phones, device):
    """(WER, PER) in percent, stress stripped, against the closest pronunciation of each word."""
    words = {}
    for word, ps in pairs:
        words.setdefault(word, []).append([p.rstrip("012") for p in ps])
    order = list(words)
    letters, _ = tensors([(w, []) for w in order], {}, device)
    wrong = edits = length = 0
    for start in range(0, len(order), 512):
        for word, ids in zip(order[start : start + 512], greedy(model, letters[start : start + 512])):
            ids = ids[: ids.index(END)] if END in ids else ids
            said = [phones[i].rstrip("012") for i in ids]
            best, ref = min(((distance(said, r), r) for r in words[word]), key=lambda x: x[0])
            wrong += best > 0
            edits += best
            length += len(ref)
    return 100.0 * wrong / len(order), 100.0 * edits / length


def named_weights(model, layers):
    """The state of the model under the names of model.json: <layer>.<port>."""
    state = model.state_dict()
    out = {"encoder.embedding.table": state["letter_table.weight"],
           "decoder.embedding.table": state["phone_table.weight"],
           "generator.weight": state["generator.weight"], "generator.bias": state["generator.bias"]}

    def copy_pair(theirs, ours):
        out[ours + ".weight"], out[ours + ".bias"] = state[theirs + ".weight"], state[theirs + ".bias"]

    def attention(theirs, ours):
        for part in ("weight", "bias"):
            q, k, v = state[f"{theirs}.in_proj_{part}"].chunk(3)
            out[f"{ours}.query.{part}"], out[f"{ours}.key.{part}"], out[f"{ours}.value.{part}"] = q, k, v
            out[f"{ours}.out.{part}"] = state[f"{theirs}.out_proj.{part}"]

    for side in ("encoder", "decoder"):
        norms = ["attention", "feed_forward"] if side == "encoder" else ["attention", "source_attention", "feed_forward"]
        for i in range(layers):
            theirs, ours = f"transformer.{side}.layers.{i}", f"{side}.{i}"
            attention(f"{theirs}.self_attn", f"{ours}.attention")
            if side == "decoder":
                attention(f"{theirs}.multihead_attn", f"{ours}.source_attention")
            for n, norm in enumerate(norms, 1):
                copy_pair(f"{theirs}.norm{n}", f"{ours}.norm_{norm}")
            for part in ("weight", "bias"):
                out[f"{ours}.feed_forward.up_{part}"] = state[f"{theirs}.linear1.{part}"]
                out[f"{ours}.feed_forward.down_{part}"] = state[f"{theirs}.linear2.{part}"]
        copy_pair(f"transformer.{side}.norm", f"{side}.norm")
    return out


def write_safetensors(path, weights):
    """f16, in the layout of the safetensors format: u64 header length, JSON header, data."""
    header, blobs, at = {}, [], 0
    for name in sorted(weights):
        w = weights[name].detach().cpu().half().contiguous()
        blob = w.numpy().tobytes()
        header[name] = {"dtype": "F16", "shape": list(w.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    write(path, struct.pack("<Q", len(text)) + text + b"".join(blobs))


def write(path, data):
    """Writes the file completely or not at all: under a temporary name, which is then renamed."""
    with open(path + ".tmp", "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    os.replace(path + ".tmp", path)


def export(model, args, phones):
    os.makedirs(args.out, exist_ok=True)
    write_safetensors(os.path.join(args.out, "model.safetensors"), named_weights(model, args.layers))
    write(os.path.join(args.out, "letters.txt"), "\n".join(LETTERS) + "\n")
    write(os.path.join(args.out, "phones.txt"), "\n".join(phones) + "\n")


def main():
    ap = argparse.ArgumentParser(description="Train the g2p model.")
    ap.add_argument("--train", required=True)
    ap.add_argument("--valid", required=True)
    ap.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    ap.add_argument("--checkpoint", help="resume from and save to this file (default: none)")
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--minutes", type=float, help="as many epochs as fit, measured on the first steps")
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--rate", type=float, default=1.5e-3, help="peak learning rate")
    ap.add_argument("--warmup", type=int, default=400, help="steps")
    ap.add_argument("--dropout", type=float, default=0.2)
    ap.add_argument("--d-model", type=int, default=160)
    ap.add_argument("--heads", type=int, default=5)
    ap.add_argument("--layers", type=int, default=4)
    ap.add_argument("--hidden", type=int, default=640)
    ap.add_argument("--average", type=float, default=0.9995, help="decay of the running mean of the weights")
    ap.add_argument("--score-every", type=int, default=10, help="epochs")
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    train, valid = read_tsv(args.train), read_tsv(args.valid)
    phones = SPECIALS + sorted({p for _, ps in train for p in ps})
    phone_ids = {p: i for i, p in enumerate(phones)}
    letters, targets = tensors(train, phone_ids, device)
    lengths = [len(w) + len(p) for w, p in train]

    model = G2P(len(LETTERS), len(phones), args.d_model, args.heads, args.layers, args.hidden, args.dropout).to(device)
    mean = copy.deepcopy(model).eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.rate, betas=(0.9, 0.98), eps=1e-9)
    print(f"{sum(p.numel() for p in model.parameters())} parameters on {device}, {len(train)} pronunciations", flush=True)

    epoch = step = 0
    if args.checkpoint and os.path.exists(args.checkpoint):
        state = torch.load(args.checkpoint, map_location=device)
        model.load_state_dict(state["model"])
        mean.load_state_dict(state["mean"])
        optimizer.load_state_dict(state["optimizer"])
        epoch, step, args.epochs = state["epoch"], state["step"], state["epochs"]
        args.minutes = None

    began = time.monotonic()
    per_epoch = math.ceil(len(train) / args.batch)
    while epoch < args.epochs:
        # Batches of similar length need little padding; they are in random order and formed again in every epoch.
        order = sorted(range(len(train)), key=lambda n: lengths[n] + random.random() * 3)
        batches = [order[i : i + args.batch] for i in range(0, len(order), args.batch)]
        random.shuffle(batches)
        model.train()
        for batch in batches:
            progress = step / (args.epochs * per_epoch)
            rate = args.rate * min((step + 1) / args.warmup, 0.5 + 0.5 * math.cos(math.pi * min(1.0, progress)))
            for group in optimizer.param_groups:
                group["lr"] = rate
            s, t = max(len(train[n][0]) for n in batch), max(len(train[n][1]) for n in batch) + 2
            index = torch.tensor(batch, device=device)
            x, y = letters[index, :s], targets[index, :t]
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                logits = model(x, y[:, :-1])
            loss = F.cross_entropy(logits.float().flatten(0, 1), y[:, 1:].flatten(), ignore_index=PAD, label_smoothing=0.1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            decay = min(args.average, step / (step + 10.0))
            with torch.no_grad():
                torch._foreach_lerp_(list(mean.parameters()), list(model.parameters()), 1.0 - decay) \
                    if hasattr(torch, "_foreach_lerp_") else \
                    [m.lerp_(p, 1.0 - decay) for m, p in zip(mean.parameters(), model.parameters())]
            if args.minutes and epoch == 1 and step == 2 * per_epoch:  # the second epoch is free of warm-up costs
                args.epochs = max(2, int(args.minutes * 60 / ((time.monotonic() - second) * 1.03)))
                print(f"{args.epochs} epochs fit into {args.minutes} minutes", flush=True)
        epoch += 1
        if epoch == 1:
            second = time.monotonic()
        line = f"epoch {epoch}/{args.epochs} loss {loss.item():.3f} rate {rate:.2e} {time.monotonic() - began:.0f} s"
        if epoch % args.score_every == 0 or epoch == args.epochs:
            line += " WER {:.2f} % PER {:.2f} %".format(*score(mean, valid, phones, device))
        print(line, flush=True)
        if args.checkpoint:
            torch.save({"model": model.state_dict(), "mean": mean.state_dict(), "optimizer": optimizer.state_dict(),
                        "epoch": epoch, "step": step, "epochs": args.epochs}, args.checkpoint + ".tmp")
            os.replace(args.checkpoint + ".tmp", args.checkpoint)
    export(mean, args, phones)


if __name__ == "__main__":
    sys.exit(main())
