#include "generation/decoder.hpp"

#include "generation/generation_shapes.hpp"
#include "generation/texts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace lamina::generation {
namespace {

constexpr size_t longest_block = 256;  // tokens of a prompt that go through a program at once
constexpr size_t first_capacity = 256; // of caches, in tokens

constexpr int32_t filler = 0; // any id: nothing comes of rows and positions that have it

// `old` at the beginning of a tensor that is longer along one axis.
void copy_prefix(const Tensor &old, Tensor &grown) {
    const Shape &from = old.shape(), &to = grown.shape();
    const auto axis = static_cast<size_t>(std::mismatch(from.begin(), from.end(), to.begin()).first - from.begin());
    size_t blocks = 1;
    for (size_t i = 0; i < std::min(axis, from.size()); ++i) blocks *= static_cast<size_t>(from[i]);
    const size_t bytes = old.bytes().size() / blocks, stride = grown.bytes().size() / blocks;
    for (size_t i = 0; i < blocks; ++i)
        std::memcpy(grown.bytes().data() + i * stride, old.bytes().data() + i * bytes, bytes);
}

std::vector<int32_t> states_of(const plan::GraphPlan &plan) {
    std::vector<int32_t> out;
    for (size_t i = 0; i < plan.tensors.size(); ++i)
        if (plan.tensors[i].kind == plan::PlannedTensor::Kind::state) out.push_back(static_cast<int32_t>(i));
    return out;
}

} // namespace

Decoder::Decoder(detail::SessionState &session, const std::vector<Source> &sources, const Shape &shape)
    : session_(session), model_(*session.model->generation), cached_(shape.cached), rows_(shape.rows),
      batch_(rounded_rows(shape.rows)), positions_(longest_target(*session.model, *session.runtime->plugins)),
      longest_(std::min(static_cast<size_t>(rounded_length(shape.length)), positions_)), had_(batch_, 0) {
    if (!model_.encode.empty()) encode(sources);
    if (cached_)
        capacity_ = std::min(longest_, first_capacity);
    else
        taken_.resize(batch_);
    use_program(cached_ ? 1 : longest_, Gives::scores, 0);
    const auto scores = static_cast<size_t>(program_->plan().outputs.at(model_.scores));
    vocabulary_ = static_cast<size_t>(program_->plan().tensors[scores].type.shape.back());
    scores_.resize(batch_ * vocabulary_);
}

// The inputs that the decoder takes from the encoder, and the lengths of the sources.
void Decoder::encode(const std::vector<Source> &sources) {
    TensorMap inputs = encoder_inputs(*session_.model, *session_.runtime->plugins, sources, Rows::of_programs);
    plan::GraphShapes shapes;
    for (const auto &[name, tensor] : inputs) shapes.inputs[name] = tensor.type();
    plan::Program &program = session_.program(model_.encode, shapes);
    for (const auto &[name, tensor] : inputs) program.write(program.plan().inputs.at(name), tensor.bytes());
    program.run();
    for (const std::string &name : model_.encoded) {
        const int32_t output = program.plan().outputs.at(name);
        Tensor &tensor = given_[name] = Tensor(program.plan().tensors[static_cast<size_t>(output)].type);
        program.read(output, tensor.bytes());
    }
    if (model_.decode_takes_lengths) given_[model_.source_lengths] = std::move(inputs.at(model_.source_lengths));
}

// ---- Programs and caches ----

// The program for so many tokens a row, with caches that hold `needed` of them. Caches that are too short get room for
// twice as many as before, or for what is needed, but no more than ever may be.
void Decoder::use_program(size_t length, Gives gives, size_t needed) {
    if (length == length_ && gives == gives_ && needed <= capacity_) return;
    std::map<std::string, Tensor> states;
    if (needed > capacity_) {
        for (const int32_t state : states_of(program_->plan())) {
            const plan::PlannedTensor &tensor = program_->plan().tensors[static_cast<size_t>(state)];
            program_->read(state, states.emplace(tensor.name, Tensor(tensor.type)).first->second.bytes());
        }
        capacity_ = std::max(needed, std::min(longest_, std::max(2 * capacity_, std::bit_ceil(needed))));
    }
    TensorTypes encoded;
    for (const std::string &name : model_.encoded) encoded[name] = given_.at(name).type();
    plan::GraphShapes shapes = decode_shapes(model_, static_cast<int64_t>(batch_), static_cast<int64_t>(length),
                                             encoded, static_cast<int64_t>(capacity_));
    shapes.states_only = gives == Gives::nothing;
    program_ = &session_.program(model_.decode, std::move(shapes));
    length_ = length;
    gives_ = gives;
    for (const auto &[name, tensor] : given_) program_->write(program_->plan().inputs.at(name), tensor.bytes());
    for (const auto &[name, state] : states) {
        const int32_t index = program_->plan().tensor(name);
        Tensor grown(program_->plan().tensors[static_cast<size_t>(index)].type);
        copy_prefix(state, grown);
        program_->write(index, grown.bytes());
    }
}

// ---- Steps ----

std::span<float> Decoder::step(std::span<const Ids> tokens) {
    if (cached_) {
        fill(tokens);
        run_last(tokens);
    } else {
        run_whole(tokens);
    }
    for (size_t r = 0; r < rows_; ++r)
        if (!tokens[r].empty()) finish_scores(r);
    return std::span(scores_).first(rows_ * vocabulary_);
}

// What every row has before its last token.
void Decoder::fill(std::span<const Ids> tokens) {
    size_t longest = 1;
    for (const Ids &ids : tokens) longest = std::max(longest, ids.size());
    for (size_t first = 0; first + 1 < longest;) {
        size_t most =
            longest_block; // a block may be longer than what is left of the tokens, but not than the positions
        for (size_t r = 0; r < rows_; ++r)
            if (first + 1 < tokens[r].size()) most = std::min(most, positions_ - had_[r]);
        const size_t left = longest - 1 - first, whole = std::bit_floor(left);
        const bool filled_up = left - whole > whole / 2; // rather than one more block: a quarter of it is filler
        const size_t length = std::min(filled_up ? 2 * whole : whole, std::bit_floor(most));
        run_block(tokens, first, length);
        first += length;
    }
}

// Gives every row the tokens [first, first + length) of its own, less its last one. What follows them is computed from
// filler; the next token takes its place in the caches.
void Decoder::run_block(std::span<const Ids> tokens, size_t first, size_t length) {
    size_t needed = 0;
    std::vector<size_t> counts(rows_, 0);
    std::vector<int32_t> ids(batch_ * length, filler), positions(batch_, 0);
    for (size_t r = 0; r < rows_; ++r) {
        if (first + 1 < tokens[r].size()) counts[r] = std::min(tokens[r].size() - 1 - first, length);
        std::copy_n(tokens[r].begin() + static_cast<std::ptrdiff_t>(std::min(first, tokens[r].size())), counts[r],
                    ids.begin() + static_cast<std::ptrdiff_t>(r * length));
        positions[r] = static_cast<int32_t>(std::min(had_[r], positions_ - length));
        needed = std::max(needed, had_[r] + counts[r]);
    }
    use_program(length, Gives::nothing, needed);
    run(ids, positions);
    for (size_t r = 0; r < rows_; ++r) had_[r] += counts[r];
}

void Decoder::run_last(std::span<const Ids> tokens) {
    size_t needed = 0;
    std::vector<int32_t> ids(batch_, filler), positions(batch_, 0);
    for (size_t r = 0; r < rows_; ++r) {
        positions[r] = static_cast<int32_t>(std::min(had_[r], positions_ - 1));
        if (tokens[r].empty()) continue;
        ids[r] = tokens[r].back();
        needed = std::max(needed, ++had_[r]);
    }
    use_program(1, Gives::scores, needed);
    run(ids, positions);
    read_scores(scores_);
}

void Decoder::run_whole(std::span<const Ids> tokens) {
    std::vector<int32_t> ids(batch_ * length_, filler);
    for (size_t r = 0; r < batch_; ++r) {
        if (r < rows_) taken_[r].insert(taken_[r].end(), tokens[r].begin(), tokens[r].end());
        std::copy(taken_[r].begin(), taken_[r].end(), ids.begin() + static_cast<std::ptrdiff_t>(r * length_));
        had_[r] = taken_[r].size();
    }
    run(ids, std::vector<int32_t>(batch_, 0));
    std::vector<float> all(batch_ * length_ * vocabulary_);
    read_scores(all);
    for (size_t r = 0; r < rows_; ++r)
        if (!tokens[r].empty())
            std::copy_n(all.begin() + static_cast<std::ptrdiff_t>((r * length_ + had_[r] - 1) * vocabulary_),
                        vocabulary_, scores_.begin() + static_cast<std::ptrdiff_t>(r * vocabulary_));
}

void Decoder::run(std::span<const int32_t> ids, std::span<const int32_t> positions) {
    program_->write(program_->plan().inputs.at(model_.target_ids), std::as_bytes(ids));
    program_->write(program_->plan().inputs.at(model_.position), std::as_bytes(positions));
    program_->run();
}

void Decoder::read_scores(std::span<float> scores) {
    program_->read(program_->plan().outputs.at(model_.scores), std::as_writable_bytes(scores));
}

// As logarithms, all of them numbers.
void Decoder::finish_scores(size_t row) {
    const auto scores = std::span(scores_).subspan(row * vocabulary_, vocabulary_);
    if (model_.probabilities) // a probability of 0 is never chosen
        std::ranges::transform(scores, scores.begin(), [](float p) { return std::log(p); });
    const auto wrong = [](float score) { return !(score < std::numeric_limits<float>::infinity()); };
    const auto at = std::find_if(scores.begin(), scores.end(), wrong);
    if (at == scores.end()) return;
    const std::string &device = session_.device.id;
    throw Error(ErrorCode::failure, "graph '" + model_.decode + "' gave " + std::to_string(*at) + " for token " +
                                        std::to_string(at - scores.begin()) + " at position " +
                                        std::to_string(had_[row] - 1) + " on " + device +
                                        "; 'lamina compare --device " + device + "' names the layer at fault");
}

void Decoder::reorder(std::span<const int32_t> rows) {
    std::vector<int32_t> whole(batch_);
    std::iota(whole.begin(), whole.end(), 0);
    std::copy(rows.begin(), rows.end(), whole.begin());
    const std::vector<size_t> had = had_;
    const std::vector<Ids> taken = taken_;
    for (size_t r = 0; r < batch_; ++r) {
        had_[r] = had[static_cast<size_t>(whole[r])];
        if (!cached_) taken_[r] = taken[static_cast<size_t>(whole[r])];
    }
    if (cached_) program_->reorder_states(whole);
}

} // namespace lamina::generation
