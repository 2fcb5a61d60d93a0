#!/usr/bin/env python3
"""Converts a trained nn.TransformerEncoder, nn.TransformerDecoder or nn.Transformer into a Lamina model folder.

    torch.save(model.state_dict(), "model.pt")                            # in your program
    tools/from_torch.py model.pt models/mine --heads 8 --norm-first       # here

The state dict shows which module it is, its sizes, and whether it has biases and final norms. The other arguments of
the module must be given: --heads, --norm-first, --activation, --eps. With --source-embedding and --target-embedding the
graphs take token ids instead of vectors; with --generator they give log probabilities; with --target-vocab the model
generates text. See docs/from_pytorch.md.

This file and the folder from_torch/ next to it need Python 3.9 and PyTorch with NumPy (Debian: python3-torch), and no
other file of Lamina.
"""

import sys

from from_torch import main  # the folder

if __name__ == "__main__":
    sys.exit(main())
