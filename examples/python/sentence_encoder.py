#!/usr/bin/env python3
"""Vectors of texts by the names that SentenceTransformer has, for programs that were written for it.

    examples/python/sentence_encoder.py MODEL "What is the rain like?" "It pours." "He plays a guitar."

prints how similar the first text, a query, is to the others.
"""

import sys

import numpy as np

import lamina


class SentenceEncoder:
    """encode() and what belongs to it, as SentenceTransformer has them. Results are NumPy arrays."""

    def __init__(self, model_name_or_path, device="auto", truncate_dim=None):
        self.model = lamina.load(model_name_or_path, device=device)
        self.truncate_dim = truncate_dim

    @property
    def prompts(self):
        return self.model.prompts

    def encode(self, sentences, *, prompt_name=None, prompt=None, batch_size=32, show_progress_bar=None,
               normalize_embeddings=False, truncate_dim=None):
        return self.model.embed(
            sentences,
            prompt_name=None if prompt is not None else prompt_name,
            prompt=prompt,
            batch_size=batch_size,
            show_progress=show_progress_bar,
            normalize=normalize_embeddings,
            dimensions=truncate_dim or self.truncate_dim,
            truncate=True,
        )

    def encode_query(self, sentences, **options):
        return self.encode(sentences, **{"prompt_name": self._first("query"), **options})

    def encode_document(self, sentences, **options):
        return self.encode(sentences, **{"prompt_name": self._first("document", "passage", "corpus"), **options})

    def _first(self, *names):
        return next((name for name in names if name in self.prompts), None)

    def get_sentence_embedding_dimension(self):
        return self.truncate_dim or self.model.embed([]).shape[1]

    def similarity(self, one, other):
        """Cosines, (N, M)."""
        one, other = (each / np.linalg.norm(each, axis=-1, keepdims=True) for each in map(np.atleast_2d, (one, other)))
        return one @ other.T


if __name__ == "__main__":
    encoder = SentenceEncoder(sys.argv[1])
    query, *documents = sys.argv[2:]
    scores = encoder.similarity(encoder.encode_query(query), encoder.encode_document(documents))[0]
    for score, document in sorted(zip(scores, documents), reverse=True):
        print(f"{score:6.3f}  {document}")
