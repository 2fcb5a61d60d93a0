// The frequencies of rotary positions, as config.json describes them.
#pragma once

#include "architectures/architecture.hpp"

#include <string>
#include <vector>

namespace lamina::architectures {

struct Rotary {
    std::vector<float> frequencies; // radians a position; one for each pair of channels of a head that is turned
    double magnitude = 1;           // what the turned channels are multiplied by
    int64_t positions = 0;          // the context that these frequencies are for
};

// `head_dim`: channels of a head. `layers`: the key of "rope_parameters" where it differs by the kind of layer.
//
// Reads rope_parameters, or the older rope_theta and rope_scaling. Types: default, linear, dynamic, yarn, longrope,
// llama3. Those that change with the length of the text, dynamic and longrope, are those of texts within the context
// that the model was trained for. (transformers, modeling_rope_utils.py; Peng et al.: YaRN, arXiv:2309.00071; Ding et
// al.: LongRoPE, arXiv:2402.13753.)
[[nodiscard]] Rotary rotary(const Config &config, int64_t head_dim, double default_theta = 10000,
                            const std::string &layers = {});

// Nothing but a base.
[[nodiscard]] Rotary plain_rotary(int64_t head_dim, double theta, int64_t positions);

// Adds the frequencies to the draft as a weight, once, and a layer that turns x.
class RotaryLayer {
  public:
    RotaryLayer(Draft &draft, const std::string &name, const Rotary &rotary, bool interleaved);
    [[nodiscard]] GraphWriter::Tensor operator()(GraphWriter &graph, const std::string &name,
                                                 const GraphWriter::Tensor &x, int64_t heads,
                                                 const GraphWriter::Tensor &position) const;

  private:
    std::string frequencies_;
    double magnitude_;
    bool interleaved_;
};

} // namespace lamina::architectures
