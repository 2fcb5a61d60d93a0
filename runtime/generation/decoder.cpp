#include "generation/decoder.hpp"

#include "generation/generation_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lamina::generation {

// The inputs that the decoder takes from the encoder, and the lengths of the sources. Rows beyond the sources have one
// token, and their results are not used.
TensorMap Decoder::encode(detail::SessionState &session, const std::vector<Ids> &sources) const {
    const model::Generation &g = *session.model->generation;
    const auto batch = static_cast<int64_t>(batch_);
    size_t longest = 0;
    for (const Ids &ids : sources) longest = std::max(longest, ids.size());
    Tensor source(TensorType{DType::i32, {batch, source_length(*session.model, *session.runtime->plugins, longest)}});
    Tensor lengths(TensorType{DType::i32, {batch}});
    std::fill(lengths.i32().begin(), lengths.i32().end(), 1);
    for (size_t r = 0; r < sources.size(); ++r) {
        lengths.i32()[r] = static_cast<int32_t>(sources[r].size());
        std::copy(sources[r].begin(), sources[r].end(),
                  source.i32().begin() + static_cast<std::ptrdiff_t>(r) * source.shape()[1]);
    }
    plan::Program &program = session.program(g.encode, encode_shapes(g, batch, source.shape()[1]));
    program.write(program.plan().inputs.at(g.source_ids), source.bytes());
    program.write(program.plan().inputs.at(g.source_lengths), lengths.bytes());
    program.run();
    TensorMap given;
    for (const std::string &name : g.encoded) {
        const int32_t output = program.plan().outputs.at(name);
        Tensor &tensor = given[name] = Tensor(program.plan().tensors[static_cast<size_t>(output)].type);
        program.read(output, tensor.bytes());
    }
    if (g.decode_takes_lengths) given[g.source_lengths] = std::move(lengths);
    return given;
}

Decoder::Decoder(detail::SessionState &session, const std::vector<Ids> &sources, const Shape &shape)
    : rows_(shape.rows), batch_(rounded_rows(shape.rows)), cached_(shape.cached),
      probabilities_(session.model->generation->probabilities), device_(session.device.id) {
    const model::Generation &g = *session.model->generation;
    graph_ = g.decode;
    TensorMap given;
    if (!g.encode.empty()) given = encode(session, sources);
    TensorTypes encoded;
    for (const std::string &name : g.encoded) encoded[name] = given.at(name).type();
    int64_t length = 1, state_length = 0;
    if (cached_)
        state_length = rounded_length(shape.length);
    else // all positions are computed, so none may be out of range
        length = std::min(rounded_length(shape.length),
                          static_cast<int64_t>(longest_target(*session.model, *session.runtime->plugins)));
    steps_ = static_cast<size_t>(length);
    program_ =
        &session.program(g.decode, decode_shapes(g, static_cast<int64_t>(batch_), length, encoded, state_length));
    const plan::GraphPlan &plan = program_->plan();
    for (const auto &[name, tensor] : given) program_->write(plan.inputs.at(name), tensor.bytes());
    ids_input_ = plan.inputs.at(g.target_ids);
    position_input_ = plan.inputs.at(g.position);
    scores_output_ = plan.outputs.at(g.scores);
    vocabulary_ = static_cast<size_t>(plan.tensors[static_cast<size_t>(scores_output_)].type.shape.back());
    const int32_t filler = 0; // any id; results of rows and positions with it are not used
    ids_.assign(batch_ * steps_, filler);
    positions_.assign(batch_, 0);
    all_.resize(batch_ * steps_ * vocabulary_);
    scores_.resize(rows_ * vocabulary_);
}

std::span<const float> Decoder::step(std::span<const int32_t> tokens, size_t position) {
    const size_t column = cached_ ? 0 : position;
    for (size_t r = 0; r < rows_; ++r) ids_[r * steps_ + column] = tokens[r];
    if (cached_) std::fill(positions_.begin(), positions_.end(), static_cast<int32_t>(position));
    program_->write(ids_input_, std::as_bytes(std::span(ids_)));
    program_->write(position_input_, std::as_bytes(std::span(positions_)));
    program_->run();
    program_->read(scores_output_, std::as_writable_bytes(std::span(all_)));
    const std::span<float> found = cached_ ? std::span(all_).first(rows_ * vocabulary_) : std::span(scores_);
    for (size_t r = 0; r < rows_ && !cached_; ++r) {
        const auto from = all_.begin() + static_cast<std::ptrdiff_t>((r * steps_ + column) * vocabulary_);
        std::copy_n(from, vocabulary_, scores_.begin() + static_cast<std::ptrdiff_t>(r * vocabulary_));
    }
    if (probabilities_)
        for (float &score : found) score = std::log(score); // a probability of 0 is never chosen
    check_scores(found, position);
    return found;
}

void Decoder::check_scores(std::span<const float> scores, size_t position) const {
    const auto wrong = [](float score) { return !(score < std::numeric_limits<float>::infinity()); };
    const auto at = std::find_if(scores.begin(), scores.end(), wrong);
    if (at != scores.end())
        throw Error(ErrorCode::failure, "graph '" + graph_ + "' gave " + std::to_string(*at) + " for token " +
                                            std::to_string(static_cast<size_t>(at - scores.begin()) % vocabulary_) +
                                            " at position " + std::to_string(position) + " on " + device_ +
                                            "; 'lamina compare --device " + device_ + "' names the layer at fault");
}

void Decoder::reorder(std::span<const int32_t> rows) {
    std::vector<int32_t> whole(batch_);
    std::iota(whole.begin(), whole.end(), 0);
    std::copy(rows.begin(), rows.end(), whole.begin());
    if (cached_) return program_->reorder_states(whole);
    const std::vector<int32_t> before = ids_;
    for (size_t r = 0; r < batch_; ++r)
        std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(whole[r]) * steps_), steps_,
                    ids_.begin() + static_cast<std::ptrdiff_t>(r * steps_));
}

} // namespace lamina::generation
