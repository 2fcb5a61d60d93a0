#include "generation/decoder.hpp"

#include "generation/encoded.hpp"
#include "generation/generation_shapes.hpp"
#include "generation/texts.hpp"
#include "plan/candidates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace lamina::generation {
namespace {

// A probability of 0 is never chosen.
void take_logarithms(std::span<float> probabilities) {
    std::ranges::transform(probabilities, probabilities.begin(), [](float p) { return std::log(p); });
}

} // namespace

Decoder::Decoder(detail::SessionState &session, const std::vector<Source> &sources, const Shape &shape)
    : session_(session), model_(*session.model->generation), cached_(shape.cached), rows_(shape.rows),
      batch_(rounded_rows(shape.rows)), positions_(longest_target(*session.model)),
      longest_(std::min(static_cast<size_t>(rounded_length(shape.length)), positions_)), begun_(shape.rows) {
    if (!model_.encode.empty()) given_ = encode(session_, sources, rows_, batch_);
    if (cached_)
        expect_room(shape.sure == 0 ? longest_ : std::min(longest_, std::max(shape.sure, first_capacity)),
                    candidates(shape.candidates), shape.smaller);
    detail::CachedTexts held = std::exchange(session_.cached, {});
    const bool fits = cached_ && held.rows.size() == batch_; // caches that have grown are used again
    if (!fits) held = {};
    const size_t capacity = fits ? held.capacity : std::min(longest_, first_capacity);
    session_.decoding = this;
    all_.emplace(session_, given_,
                 Sequences::Shape{batch_, longest_, positions_, cached_ ? capacity : 0, candidates(shape.candidates),
                                  shape.narrow && cached_ && given_.empty()});
    all_->prepare();
    if (fits && model_.encode.empty()) all_->take_up(std::move(held.rows));
    const plan::GraphPlan &plan = all_->program().plan();
    const auto columns = [&](const std::string &output) {
        return static_cast<size_t>(plan.tensors[static_cast<size_t>(plan.outputs.at(output))].type.shape.back());
    };
    vocabulary_ = columns(model_.scores);
    if (plan.outputs.contains(plan::candidate_sum)) {
        const size_t count = batch_ * columns(plan::candidate_scores);
        best_.resize(count);
        best_tokens_.resize(count);
        sums_.resize(batch_);
    }
    for (size_t r = 0; r < rows_; ++r)
        rows_scores_.push_back({.vocabulary = vocabulary_, .all = [this, r] { return read_row(r); }});
}

// Those of every model whose scores are logits: a bias suppresses tokens, which probabilities could not have.
std::optional<plan::Candidates> Decoder::candidates(size_t count) const {
    if (!cached_ || count == 0 || model_.probabilities) return std::nullopt;
    return plan::Candidates{model_.scores, static_cast<int64_t>(count), !session_.model->tokens.suppress.empty()};
}

Decoder::~Decoder() {
    if (!holds_caches()) return;
    session_.decoding = nullptr;
    if (cached_ && whole_ && all_->in_order()) session_.cached = all_->give_back();
}

// Refuses what cannot fit, with caches of so many tokens a row, before the weights of the decoder are uploaded.
void Decoder::expect_room(size_t capacity, const std::optional<plan::Candidates> &candidates,
                          const std::string &smaller) {
    if (batch_ * capacity <= session_.roomy) return;
    plan::GraphShapes longest = decode_shapes(model_, given_, batch_, 1, capacity);
    longest.candidates = candidates;
    longest.state_dtype = session_.options.cache;
    session_.connect();
    const plan::GraphPlan plan = plan::plan_graph(*session_.model, session_.model->graphs.at(model_.decode),
                                                  *session_.runtime->plugins, longest);
    const auto expect = [&] {
        for (plan::MemoryNeed &need : session_.backend().need(plan)) {
            if (session_.roomy != 0) need.weights.clear(); // they are there, as they are or as variants rearrange them
            const Device &device = session_.places[need.place].device;
            plan::expect_room(need,
                              std::string("decoding ") + (rows_ == 1 ? "a text" : std::to_string(rows_) + " texts") +
                                  " of up to " + std::to_string(capacity) + " tokens",
                              device.id + " (" + device.name + ")",
                              "Take " + smaller +
                                  ", smaller weights ('lamina convert --weights q8_0'), another device or "
                                  "several (--device vulkan:0,cpu).");
        }
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

// ---- Steps ----

size_t Decoder::common(size_t row, std::span<const int32_t> tokens) const {
    const Ids &taken = all_->taken(row);
    const auto same = std::ranges::mismatch(taken, tokens.first(tokens.size() - 1)).in1;
    return model_.recurrent() && same != taken.end() ? 0 : static_cast<size_t>(same - taken.begin());
}

size_t Decoder::begin(size_t first_row, size_t rows, std::span<const int32_t> tokens, bool reuse) {
    size_t kept = reuse && cached_ ? tokens.size() : 0;
    for (size_t r = first_row; r < first_row + rows && kept != 0; ++r) kept = std::min(kept, common(r, tokens));
    for (size_t r = first_row; r < first_row + rows; ++r) // the others of these rows may have taken more
        if (model_.recurrent() && all_->taken(r).size() != kept) kept = 0;
    for (size_t r = first_row; r < first_row + rows; ++r) {
        all_->keep(r, kept);
        begun_[r] = true;
    }
    return kept;
}

std::span<const Scores> Decoder::step(Tokens tokens, bool all) {
    whole_ = false;
    for (size_t r = 0; r < rows_; ++r)
        if (!tokens[r].empty() && !begun_[r]) (void)begin(r, 1, {}, false);
    if (cached_) {
        fill(tokens);
        all_->step(tokens, all && !best_.empty());
    } else {
        all_->run_whole(tokens);
    }
    if (!best_.empty())
        read_candidates(tokens);
    else
        read_all(tokens);
    whole_ = true;
    return rows_scores_;
}

bool Decoder::may_check(size_t tokens) const {
    return all_->may_check() && !model_.recurrent() && given_.empty() &&
           all_->taken(0).size() + std::bit_ceil(tokens) <= longest_;
}

std::span<const Scores> Decoder::check(std::span<const int32_t> tokens) {
    whole_ = false;
    all_->check(tokens);
    const auto scores = read_checked(*all_, tokens.size());
    whole_ = true;
    return scores;
}

// The scores of what follows each of the last tokens of the first row.
std::span<const Scores> Decoder::read_checked(Sequences &from, size_t tokens) {
    const size_t first = from.taken(0).size() - tokens;
    plan::Program &program = from.program();
    checked_.resize(std::bit_ceil(tokens) * vocabulary_);
    program.read(program.plan().outputs.at(model_.scores), std::as_writable_bytes(std::span(checked_)));
    if (model_.probabilities) take_logarithms(checked_);
    checked_scores_.clear();
    for (size_t i = 0; i < tokens; ++i)
        checked_scores_.push_back({.vocabulary = vocabulary_, .all = [this, i, first] {
                                       const auto out = std::span(checked_).subspan(i * vocabulary_, vocabulary_);
                                       expect_numbers(out, first + i);
                                       return out;
                                   }});
    return checked_scores_;
}

// In blocks whose scores take little memory: in the first row's program for one row, or in caches of its own.
void Decoder::score(size_t row, std::span<const int32_t> tokens,
                    const std::function<void(std::span<const Scores>)> &take) {
    constexpr size_t most_bytes = 64 << 20; // of scores
    const size_t longest = std::clamp(most_bytes / (vocabulary_ * sizeof(float)), size_t{1}, longest_block);
    whole_ = false;
    if (!begun_[row]) (void)begin(row, 1, {}, false);
    const bool alone = row != 0 || !all_->may_check();
    if (alone) all_->make_room(std::min(all_->taken(row).size() + std::bit_ceil(tokens.size()), positions_));
    Sequences &one = alone ? this->alone(all_->capacity()) : *all_;
    if (alone) one.copy(0, *all_, row);
    while (!tokens.empty()) {
        const size_t room = (alone ? one.capacity() : longest_) - one.taken(0).size();
        const size_t count = std::min(tokens.size(), std::bit_floor(std::min(longest, room)));
        one.check(tokens.first(count));
        take(read_checked(one, count));
        tokens = tokens.subspan(count);
    }
    if (alone) all_->copy(row, one, 0);
    whole_ = true;
}

// What every row has before its last token. All rows at once compute as many tokens for each as the longest has.
void Decoder::fill(Tokens tokens) {
    constexpr size_t least = 16; // a shorter block takes as long, because it reads the same weights
    size_t longest = 1, alone = 0;
    bool whole_images = false; // where a block ends then differs among rows
    for (const auto ids : tokens) {
        whole_images =
            whole_images || (model_.sees_ahead() && std::ranges::any_of(ids, [](int32_t id) { return id < 0; }));
        longest = std::max(longest, ids.size());
        if (ids.size() > 1) alone += std::max(ids.size(), least);
    }
    if (longest == 1) return;
    const bool together = !given_.empty() || 2 * alone >= longest * all_->rows_for(tokens);
    if (together && (!whole_images || rows_ == 1)) return all_->fill(tokens);
    for (size_t r = 0; r < rows_; ++r)
        if (tokens[r].size() > 1) fill_alone(r, tokens[r]);
}

// Programs share states of the same size. Those of one row stay smaller than those of all, because they never hold more
// tokens: blocks are filled up as far as there are positions, and a row alone has none beyond the caches of all.
void Decoder::fill_alone(size_t row, std::span<const int32_t> tokens) {
    const size_t needed = std::min(all_->taken(row).size() + std::bit_ceil(tokens.size()), positions_);
    all_->make_room(needed);
    Sequences &one = alone(needed);
    one.copy(0, *all_, row);
    one.fill({&tokens, 1});
    all_->copy(row, one, 0);
}

Sequences &Decoder::alone(size_t needed) {
    if (!alone_ || alone_->capacity() < needed)
        alone_.emplace(session_, given_, Sequences::Shape{1, all_->capacity(), all_->capacity(), all_->capacity()});
    return *alone_;
}

void Decoder::share(size_t first_row, size_t rows, size_t from, size_t tokens) {
    for (size_t r = first_row; r < first_row + rows; ++r) all_->share(r, from, tokens);
}

void Decoder::trade(size_t row, size_t with) {
    all_->trade(row, with, alone(all_->taken(row).size()));
    std::vector<bool>::swap(begun_[row], begun_[with]);
}

// A sum that is no number says that a score is none: then all of them are read.
void Decoder::read_candidates(Tokens tokens) {
    plan::Program &program = all_->program();
    const size_t rows = all_->rows(), count = best_.size() / batch_;
    const auto read = [&](const char *output, auto &to, size_t of_row) {
        program.read(program.plan().outputs.find(output)->second,
                     std::as_writable_bytes(std::span(to).first(rows * of_row)));
    };
    read(plan::candidate_scores, best_, count);
    read(plan::candidate_tokens, best_tokens_, count);
    read(plan::candidate_sum, sums_, 1);
    for (size_t r = 0; r < std::min(rows, rows_); ++r) {
        Scores &scores = rows_scores_[r];
        scores.best = {}, scores.tokens = {};
        scores.sum = sums_[r];
        if (tokens[r].empty() || !std::isfinite(scores.sum) || scores.sum == 0) continue;
        scores.best = std::span(best_).subspan(r * count, count);
        scores.tokens = std::span(best_tokens_).subspan(r * count, count);
    }
}

void Decoder::read_all(Tokens tokens) {
    plan::Program &program = all_->program();
    const int32_t output = program.plan().outputs.at(model_.scores);
    scores_.resize(batch_ * vocabulary_);
    if (cached_)
        program.read(output, std::as_writable_bytes(std::span(scores_).first(all_->rows() * vocabulary_)));
    else
        read_ends(tokens, output);
    if (model_.probabilities) take_logarithms(scores_);
}

// Of whole sequences, the scores of each row's last token.
void Decoder::read_ends(Tokens tokens, int32_t output) {
    plan::Program &program = all_->program();
    const size_t length = all_->whole_length();
    std::vector<float> all(batch_ * length * vocabulary_);
    program.read(output, std::as_writable_bytes(std::span(all)));
    for (size_t r = 0; r < rows_; ++r)
        if (!tokens[r].empty())
            std::copy_n(all.begin() +
                            static_cast<std::ptrdiff_t>((r * length + all_->taken(r).size() - 1) * vocabulary_),
                        vocabulary_, scores_.begin() + static_cast<std::ptrdiff_t>(r * vocabulary_));
}

// All scores of a row, which with candidates are not read yet.
std::span<float> Decoder::read_row(size_t row) {
    if (!best_.empty()) {
        scores_.resize(batch_ * vocabulary_);
        plan::Program &program = all_->program();
        program.read_entry(program.plan().outputs.at(model_.scores), static_cast<int64_t>(row),
                           std::as_writable_bytes(scores_of(row)));
    }
    expect_numbers(row);
    return scores_of(row);
}

std::span<float> Decoder::scores_of(size_t row) { return std::span(scores_).subspan(row * vocabulary_, vocabulary_); }

void Decoder::expect_numbers(size_t row) { expect_numbers(scores_of(row), all_->taken(row).size() - 1); }

void Decoder::expect_numbers(std::span<const float> scores, size_t position) {
    const auto wrong = [](float score) { return !(score < std::numeric_limits<float>::infinity()); };
    const auto at = std::ranges::find_if(scores, wrong);
    if (at == scores.end()) return;
    const std::string &device = session_.device.id;
    throw NoAnswer(ErrorCode::failure, "graph '" + model_.decode + "' gave " + std::to_string(*at) + " for token " +
                                           std::to_string(at - scores.begin()) + " at position " +
                                           std::to_string(position) + " on " + device + "; 'lamina compare --device " +
                                           device + "' names the layer at fault");
}

void Decoder::reorder(std::span<const int32_t> rows) {
    all_->reorder(rows);
    for (size_t r = 0; r < rows.size(); ++r) begun_[r] = begun_[r] || rows[r] != static_cast<int32_t>(r);
}

} // namespace lamina::generation
