#include "generation/decoder.hpp"

#include "generation/generation_shapes.hpp"
#include "generation/texts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace lamina::generation {
namespace {

constexpr size_t first_capacity = 256; // of caches, in tokens

constexpr int32_t filler = 0; // any id: nothing comes of rows and positions that have it

} // namespace

Decoder::Decoder(detail::SessionState &session, const std::vector<Source> &sources, const Shape &shape)
    : session_(session), model_(*session.model->generation), cached_(shape.cached), rows_(shape.rows),
      batch_(rounded_rows(shape.rows)), positions_(longest_target(*session.model, *session.runtime->plugins)),
      longest_(std::min(static_cast<size_t>(rounded_length(shape.length)), positions_)), taken_(batch_),
      reused_(batch_, 0) {
    if (!model_.encode.empty()) encode(sources);
    if (cached_) expect_room(shape.sure == 0 ? longest_ : std::min(longest_, std::max(shape.sure, first_capacity)));
    const detail::CachedTexts held = std::exchange(session_.cached, {});
    const bool fits = cached_ && held.rows.size() == batch_; // caches that have grown are used again
    if (cached_) capacity_ = fits ? held.capacity : std::min(longest_, first_capacity);
    if (fits && shape.reuse && model_.encode.empty()) before_ = held.rows;
    use_program(cached_ ? 1 : longest_, Gives::scores, 0);
    const auto scores = static_cast<size_t>(program_->plan().outputs.at(model_.scores));
    vocabulary_ = static_cast<size_t>(program_->plan().tensors[scores].type.shape.back());
    scores_.resize(batch_ * vocabulary_);
}

Decoder::~Decoder() {
    if (cached_ && whole_) session_.cached = {capacity_, std::move(taken_)};
}

// The inputs that the decoder takes from the encoder, and the lengths of the sources.
void Decoder::encode(const std::vector<Source> &sources) {
    TensorMap inputs = encoder_inputs(*session_.model, *session_.runtime->plugins, sources, Rows::of_programs);
    plan::GraphShapes shapes;
    for (const auto &[name, tensor] : inputs) shapes.inputs[name] = tensor.type();
    const auto held = session_.program(model_.encode, shapes);
    plan::Program &program = *held;
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

plan::GraphShapes Decoder::shapes(size_t length, size_t capacity) const {
    TensorTypes encoded;
    for (const std::string &name : model_.encoded) encoded[name] = given_.at(name).type();
    return decode_shapes(model_, static_cast<int64_t>(batch_), static_cast<int64_t>(length), encoded,
                         static_cast<int64_t>(capacity));
}

// Refuses what cannot fit, with caches of so many tokens a row, before the weights of the decoder are uploaded.
void Decoder::expect_room(size_t capacity) {
    if (batch_ * capacity <= session_.roomy) return;
    plan::GraphShapes longest = shapes(1, capacity);
    longest.state_dtype = session_.options.cache;
    session_.connect();
    const plan::GraphPlan plan = plan::plan_graph(*session_.model, session_.model->graphs.at(model_.decode),
                                                  *session_.runtime->plugins, longest);
    const auto expect = [&] {
        plan::MemoryNeed need = session_.backend->need(plan);
        if (session_.roomy != 0) need.weights.clear(); // they are there, as they are or as variants rearrange them
        plan::expect_room(need,
                          std::string("decoding ") + (rows_ == 1 ? "a text" : std::to_string(rows_) + " texts") +
                              " of up to " + std::to_string(capacity) + " tokens",
                          session_.device.id + " (" + session_.device.name + ")",
                          "Take a smaller --max-length, --cache f16, a smaller --batch, smaller weights ('lamina "
                          "convert --weights q8_0') or another device.");
    };
    try {
        expect();
    } catch (const Error &e) { // without the programs and caches of other shapes there may be room
        if (e.code() != ErrorCode::memory) throw;
        session_.programs.drop("");
        session_.cached = {};
        expect();
    }
    session_.roomy = batch_ * capacity;
}

// The program for so many tokens a row, with caches that hold `needed` of them. Caches that are too short get room for
// twice as many as before, or for what is needed, but no more than ever may be.
void Decoder::use_program(size_t length, Gives gives, size_t needed) {
    if (length == length_ && gives == gives_ && needed <= capacity_) return;
    const size_t shorter = capacity_;
    if (needed > capacity_)
        capacity_ = std::max(needed, std::min(longest_, std::max(2 * capacity_, std::bit_ceil(needed))));
    plan::GraphShapes wanted = shapes(length, capacity_);
    wanted.states_only = gives == Gives::nothing;
    const auto before = std::exchange(program_, session_.program(model_.decode, std::move(wanted)));
    length_ = length;
    gives_ = gives;
    for (const auto &[name, tensor] : given_) program_->write(program_->plan().inputs.at(name), tensor.bytes());
    if (capacity_ == shorter) return;
    program_->take_states(*before);
    session_.forget(model_.decode, static_cast<int64_t>(shorter));
}

// ---- Steps ----

std::span<float> Decoder::step(std::span<const Ids> tokens) {
    whole_ = false;
    if (cached_) {
        const Tokens left = take_reused(tokens);
        fill(left);
        run_last(left);
    } else {
        run_whole(tokens);
    }
    for (size_t r = 0; r < rows_; ++r)
        if (!tokens[r].empty()) finish_scores(r);
    whole_ = true;
    return std::span(scores_).first(rows_ * vocabulary_);
}

// What is to be computed. The last token always is, because its scores are needed.
Decoder::Tokens Decoder::take_reused(std::span<const Ids> tokens) {
    Tokens left(tokens.begin(), tokens.end());
    for (size_t r = 0; r < std::min(rows_, before_.size()); ++r) {
        if (tokens[r].empty() || !taken_[r].empty()) continue;
        const auto same = std::ranges::mismatch(before_[r], left[r].first(left[r].size() - 1)).in1;
        taken_[r].assign(before_[r].cbegin(), Ids::const_iterator(same));
        reused_[r] = taken_[r].size();
        left[r] = left[r].subspan(reused_[r]);
    }
    return left;
}

// What every row has before its last token.
void Decoder::fill(const Tokens &tokens) {
    size_t longest = 1;
    for (const auto ids : tokens) longest = std::max(longest, ids.size());
    for (size_t first = 0; first + 1 < longest;) {
        // A block may be longer than what is left of the tokens, but not than what is left of the positions.
        size_t most = longest_block;
        for (size_t r = 0; r < rows_; ++r)
            if (!tokens[r].empty()) most = std::min(most, positions_ - taken_[r].size());
        const size_t left = longest - 1 - first, whole = std::bit_floor(left);
        const bool filled_up = left - whole > whole / 2; // rather than one more block: a quarter of it is filler
        const size_t length = std::min(filled_up ? 2 * whole : whole, std::bit_floor(most));
        run_block(tokens, first, length);
        first += length;
    }
}

// Gives every row the tokens [first, first + length) of its own, less its last one. What follows them is computed from
// filler; the next token takes its place in the caches.
void Decoder::run_block(const Tokens &tokens, size_t first, size_t length) {
    Tokens block(rows_);
    std::vector<int32_t> ids(batch_ * length, filler);
    for (size_t r = 0; r < rows_; ++r) {
        if (first + 1 < tokens[r].size())
            block[r] = tokens[r].subspan(first, std::min(tokens[r].size() - 1 - first, length));
        std::ranges::copy(block[r], ids.begin() + static_cast<std::ptrdiff_t>(r * length));
    }
    use_program(length, Gives::nothing, longest_of(tokens) + length);
    run(ids, positions(length));
    for (size_t r = 0; r < rows_; ++r) taken_[r].insert(taken_[r].end(), block[r].begin(), block[r].end());
}

void Decoder::run_last(const Tokens &tokens) {
    std::vector<int32_t> ids(batch_, filler);
    for (size_t r = 0; r < rows_; ++r)
        if (!tokens[r].empty()) ids[r] = tokens[r].back();
    use_program(1, Gives::scores, longest_of(tokens) + 1);
    run(ids, positions(1));
    for (size_t r = 0; r < rows_; ++r)
        if (!tokens[r].empty()) taken_[r].push_back(tokens[r].back());
    read_scores(scores_);
}

// How many tokens the longest row has of those that take more.
size_t Decoder::longest_of(const Tokens &tokens) const {
    size_t longest = 0;
    for (size_t r = 0; r < rows_; ++r)
        if (!tokens[r].empty()) longest = std::max(longest, taken_[r].size());
    return longest;
}

// Where the next tokens of each row go. A row that rests may be so long that filler takes the place of its last ones.
std::vector<int32_t> Decoder::positions(size_t length) {
    std::vector<int32_t> out;
    for (Ids &taken : taken_) {
        if (taken.size() + length > capacity_) taken.resize(capacity_ - length);
        out.push_back(static_cast<int32_t>(taken.size()));
    }
    return out;
}

void Decoder::run_whole(std::span<const Ids> tokens) {
    std::vector<int32_t> ids(batch_ * length_, filler);
    for (size_t r = 0; r < batch_; ++r) {
        if (r < rows_) taken_[r].insert(taken_[r].end(), tokens[r].begin(), tokens[r].end());
        std::copy(taken_[r].begin(), taken_[r].end(), ids.begin() + static_cast<std::ptrdiff_t>(r * length_));
    }
    run(ids, std::vector<int32_t>(batch_, 0));
    std::vector<float> all(batch_ * length_ * vocabulary_);
    read_scores(all);
    for (size_t r = 0; r < rows_; ++r)
        if (!tokens[r].empty())
            std::copy_n(all.begin() + static_cast<std::ptrdiff_t>((r * length_ + taken_[r].size() - 1) * vocabulary_),
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
                                        std::to_string(taken_[row].size() - 1) + " on " + device +
                                        "; 'lamina compare --device " + device + "' names the layer at fault");
}

void Decoder::reorder(std::span<const int32_t> rows) {
    std::vector<int32_t> whole(batch_);
    std::iota(whole.begin(), whole.end(), 0);
    std::copy(rows.begin(), rows.end(), whole.begin());
    whole_ = false;
    const std::vector<Ids> taken = taken_;
    for (size_t r = 0; r < batch_; ++r) taken_[r] = taken[static_cast<size_t>(whole[r])];
    if (cached_) program_->reorder_states(whole);
    whole_ = true;
}

} // namespace lamina::generation
