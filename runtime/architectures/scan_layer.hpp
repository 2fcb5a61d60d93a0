// The layer that models of the kind of Mamba-2 (Dao, Gu, arXiv:2405.21060) have instead of attention: a short
// convolution, a selective scan, and a gate.
#pragma once

#include "architectures/decoder_graph.hpp"

#include <cstdint>
#include <string>

namespace lamina::architectures {

// Where the result of a scan is normalized, if it is.
enum class ScanNorm { after_gate, before_gate, none };

// What the parts of the first product are multiplied with, and the result before the last product.
struct ScanFactors {
    double gate = 1, values = 1, keys = 1, queries = 1, step = 1, result = 1;
};

struct Scan {
    int64_t heads, head_dim;
    int64_t groups; // of keys; the result is normalized in as many parts
    int64_t state_dim;
    int64_t width; // of the convolution
    bool biased, convolution_biased;
    std::string activation; // of the convolution
    double eps;
    double min_step = 0, max_step = 0; // of a token; 0: no limit
    bool result_biased = biased;       // the last product
    ScanNorm norm = ScanNorm::after_gate;
    ScanFactors factor = {};

    // Reads "time_step_limit": the least and the most.
    void limit_steps(const Config &config);
    // Throws Error(input) unless the sizes fit together. The keys that gave the heads and the groups are named.
    void check(const Config &config, const char *of_heads, const char *of_groups) const;
};

// Of a head, where a GGUF file has the channels of all heads together ("inner_size").
[[nodiscard]] int64_t scan_head_dim(const Config &config, int64_t heads);

class ScanLayer {
  public:
    ScanLayer(Draft &draft, const DecoderGraph &decoder, Scan scan);

    // `module` has in_proj, conv1d, A_log, dt_bias, D, norm (unless there is none) and out_proj.
    [[nodiscard]] GraphWriter::Tensor operator()(const std::string &module, const GraphWriter::Tensor &x,
                                                 const GraphWriter::Tensor &residual) const;

  private:
    Draft &draft_;
    const DecoderGraph &decoder_;
    GraphWriter &graph_;
    Scan scan_;
    int64_t values_, keys_; // channels

    [[nodiscard]] GraphWriter::Tensor convolution(const std::string &module, const GraphWriter::Tensor &x) const;
    [[nodiscard]] GraphWriter::Tensor steps(const std::string &module, const GraphWriter::Tensor &x) const;
    // What the scan read, gated by z and normalized.
    [[nodiscard]] GraphWriter::Tensor gated(const std::string &module, const GraphWriter::Tensor &z,
                                            const GraphWriter::Tensor &read) const;
    [[nodiscard]] std::string norm_of(const std::string &module) const;
    [[nodiscard]] Json weights(const std::string &module) const;
};

} // namespace lamina::architectures
