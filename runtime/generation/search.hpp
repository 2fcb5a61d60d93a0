// Chooses tokens from a decoder's scores: greedy, beam search, sampling.
#pragma once

#include "generation/decoder.hpp"

#include <lamina/lamina.hpp>

#include <functional>
#include <vector>

namespace lamina::generation {

struct Candidate {
    Ids tokens;                 // without prefix and end
    double log_probability = 0; // of tokens and, where it was reached, the end
    double score = 0; // log_probability / length^length_penalty; what candidates are ranked by; the end counts
    Finish finish = Finish::length;
    size_t reused = 0; // tokens of the prefix
};

// A search. There is one entry of `prefixes` per text: what its output begins with, place by place (the start tokens;
// for a decoder-only model also the prompt). Of several tokens for a place, the likeliest is taken.
struct SearchTask {
    std::vector<Source> sources;                  // for the encoder; empty for decoder-only models
    std::vector<std::vector<Ids>> prefixes;       // none empty
    std::vector<uint64_t> numbers;                // of the texts, so that a text is sampled the same in every batch
    size_t max_length = 0;                        // tokens beyond the prefix, the end not counted
    size_t positions = 0;                         // tokens that the model has positions for, prefix included
    std::function<bool(const Ids &tokens)> stops; // whether a text of these tokens ends with the last of them
    std::function<void(size_t text, const Ids &tokens)> grown; // after every token but the last, with one beam
};

// options.beams candidates per text, best first. One beam is greedy search, token for token. Beam search: Wu et al.,
// arXiv:1609.08144, section 7, with the length penalty of fairseq; a text is finished when as many of its candidates
// have ended as it has beams. Sampling (temperature > 0): Holtzman et al., arXiv:1904.09751, for top_p; beams are then
// independent samples.
[[nodiscard]] std::vector<std::vector<Candidate>> search(detail::SessionState &session, const SearchTask &task,
                                                         const GenerateOptions &options);

} // namespace lamina::generation
