// What a chunk of 16 tokens does to a memory M (D rows, one column per channel of a value), as matrices that all columns
// share. With the tokens' values V (16 rows) and M as it was before the chunk:
//
//     Y = read * M + own * V                                   what the tokens recall
//     U = recall * M + mix * V                                 corrections, if the layer has any
//     M = faded(M) + transposed(add) * V + transposed(correct) * U
//
// One kernel of a layer finds these matrices, for all chunks at the same time; another one takes the chunks one after
// the other, with matrix products instead of steps from token to token (Yang et al.: Parallelizing Linear Transformers
// with the Delta Rule over Sequence Length, arXiv:2406.06484).
//
// Before including this file, define CHUNK_ADDS and CHUNK_CORRECTS (0 or 1): which of the last two products there are.
// In memory, a chunk has one matrix after the other; `add` and `correct` have a row for each row of M.

#ifndef LAMINA_CHUNK_GLSL
#define LAMINA_CHUNK_GLSL

const uint CHUNK = 16u; // tokens
layout(constant_id = 10) const uint CHUNK_ROWS = 8u; // rows of M, in sixteens; the default is the most
const uint CHUNK_DIM = 16u * CHUNK_ROWS;             // of them, with zeros after key_dim

// Where matrices begin, in floats.
const uint CHUNK_READ = 0u;
const uint CHUNK_OWN = CHUNK * CHUNK_DIM;
const uint CHUNK_FADE = CHUNK_OWN + CHUNK * CHUNK; // of each row of M
const uint CHUNK_ADD = CHUNK_FADE + CHUNK_DIM;
const uint CHUNK_RECALL = CHUNK_ADD + CHUNK_ADDS * CHUNK * CHUNK_DIM;
const uint CHUNK_MIX = CHUNK_RECALL + CHUNK_CORRECTS * CHUNK * CHUNK_DIM;
const uint CHUNK_CORRECT = CHUNK_MIX + CHUNK_CORRECTS * CHUNK * CHUNK;
const uint CHUNK_SIZE = CHUNK_CORRECT + CHUNK_CORRECTS * CHUNK * CHUNK_DIM;

#endif
