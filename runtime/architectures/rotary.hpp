// The frequencies of rotary positions, as config.json describes them.
#pragma once

#include "architectures/architecture.hpp"

#include <array>
#include <string>
#include <vector>

namespace lamina::architectures {

struct Rotary {
    std::vector<float> frequencies = {}; // radians per position, for each rotated pair of channels of a head
    double magnitude = 1;                // factor on the rotated channels
    double score_factor = 1;             // factor on the scores of attention
    int64_t positions = 0;               // texts beyond this length need other frequencies; 0: none do
    int64_t coordinates = 0;             // axes on which tokens have positions; 0: their number counts
    std::vector<int64_t> axes = {};      // of each pair, that of the coordinates which it turns with
};

// What a type of models makes of its settings.
struct RotaryKind {
    std::string layers = {}; // the key within "rope_parameters" if it differs between kinds of layers
    double part = 0;         // of a head's channels that is turned, unless the settings say; 0: all, whatever they say
    const char *part_key = "partial_rotary_factor",
               *theta_key = "rope_theta"; // outside of the object with the settings
    bool old_longrope = false;            // "su" and "yarn" are older names of longrope
    bool truncate = true;                 // yarn: limits between pairs become whole, unless the settings say
    bool axes = false;                    // positions have several, which are the same for texts ("mrope_section")
    bool sections = false; // of axes, "mrope_section" has to say them, and "mrope" is an older name of default
    std::array<double, 3> turns = {}; // of the axes of pairs, unless "mrope_section" says how many; 0: they take none
    bool ntk = false;                 // "ntk" is a type
    bool scales_scores = false;       // "mscale_all_dim" of yarn scales the scores of attention, too
    bool scales_queries = false;      // "llama_4_scaling_beta" scales queries, beyond the trained length
};

// `head_dim`: channels per head.
//
// Reads rope_parameters, or the older rope_theta and rope_scaling. Types: default, linear, proportional, dynamic, yarn,
// longrope, llama3, ntk. The frequencies of dynamic and longrope depend on the length of the text; these are the ones
// for texts within the trained context. (transformers, modeling_rope_utils.py; Peng et al.: YaRN, arXiv:2309.00071;
// Ding et al.: LongRoPE, arXiv:2402.13753.)
[[nodiscard]] Rotary rotary(const Draft &draft, int64_t head_dim, const RotaryKind &kind = {});

// Adds the frequencies to the draft as a weight, once. Each call then adds a layer that rotates x; where pairs have
// axes, by the graph's input "coordinates", which in a graph of texts the first call adds.
class RotaryLayer {
  public:
    RotaryLayer(Draft &draft, const std::string &name, const Rotary &rotary, bool interleaved);
    [[nodiscard]] GraphWriter::Tensor operator()(GraphWriter &graph, const std::string &name,
                                                 const GraphWriter::Tensor &x, int64_t heads,
                                                 const GraphWriter::Tensor &position) const;

  private:
    std::string frequencies_;
    double magnitude_;
    int64_t positions_, axes_ = 0;
    bool interleaved_;
};

} // namespace lamina::architectures
