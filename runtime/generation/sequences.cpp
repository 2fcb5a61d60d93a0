#include "generation/sequences.hpp"

#include "generation/coordinates.hpp"
#include "generation/generation_shapes.hpp"
#include "plan/candidates.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lamina::generation {
namespace {

constexpr int32_t filler = 0; // any id: nothing comes of rows and positions that have it
constexpr float suppressing =
    -1e30F; // added to the scores of suppressed tokens; finite, as Vulkan promises no infinity

bool is_kept(std::span<const int32_t> tokens) { return tokens.data() != nullptr; }

// Whether token `i`, which is not the first one, and the one before it are of one image.
bool within_image(std::span<const int32_t> tokens, size_t i) {
    return i < tokens.size() && tokens[i - 1] < 0 && tokens[i] < 0;
}

// How many tokens to take from `first` on, if those of an image stay together: up to `count`, or an image that is
// longer.
size_t with_whole_images(std::span<const int32_t> tokens, size_t first, size_t count) {
    size_t end = first + count;
    while (end > first && within_image(tokens, end)) --end;
    if (end > first) return end - first;
    for (end = first + count; within_image(tokens, end);) ++end;
    return end - first;
}

} // namespace

plan::GraphShapes decode_shapes(const model::Generation &model, const TensorMap &given, size_t rows, size_t length,
                                size_t capacity) {
    TensorTypes encoded;
    for (const std::string &name : model.encoded) encoded[name] = given.at(name).type();
    return decode_shapes(model, static_cast<int64_t>(rows), static_cast<int64_t>(length), encoded,
                         static_cast<int64_t>(capacity));
}

Sequences::Sequences(detail::SessionState &session, const TensorMap &given, const Shape &shape)
    : session_(session), model_(*session.model->generation), given_(given), shape_(shape), taken_(shape.rows),
      positions_(shape.rows), lengths_(shape.rows) {}

void Sequences::prepare() {
    for (size_t rows = shape_.narrow ? 1 : shape_.rows; rows <= shape_.rows; rows *= 2)
        use_program(rows, shape_.capacity != 0 ? 1 : shape_.longest, Gives::candidates, 0);
}

size_t Sequences::rows_for(Tokens tokens) const {
    if (!shape_.narrow) return shape_.rows;
    size_t rows = tokens.size();
    while (rows > 1 && tokens[rows - 1].empty()) --rows;
    return std::bit_ceil(rows);
}

// The program for so many rows and tokens a row, with caches that hold `needed` of them. Caches that are too short get
// room for twice as many as before, or for what is needed, but no more than ever may be.
void Sequences::use_program(size_t rows, size_t length, Gives gives, size_t needed) {
    if (rows == rows_ && length == length_ && gives == gives_ && needed <= shape_.capacity) return;
    const size_t shorter = shape_.capacity;
    if (needed > shorter)
        shape_.capacity = std::max(needed, std::min(shape_.longest, std::max(2 * shorter, std::bit_ceil(needed))));
    plan::GraphShapes wanted = decode_shapes(model_, given_, rows, length, shape_.capacity);
    if (shape_.narrow) wanted.sequences = static_cast<int64_t>(shape_.rows);
    wanted.states_only = gives == Gives::nothing;
    if (gives == Gives::candidates || gives == Gives::scores) wanted.candidates = shape_.candidates;
    if (wanted.candidates) wanted.candidates->with_scores = gives == Gives::scores;
    const auto before = std::exchange(program_, session_.program(model_.decode, std::move(wanted)));
    rows_ = rows;
    length_ = length;
    gives_ = gives;
    write_what_stays();
    for (Ids &ids : taken_) ids.reserve(std::max(shape_.capacity, length));
    if (shape_.capacity == shorter) return;
    std::vector<plan::SequenceCopy> all;
    for (int32_t r = 0; r < static_cast<int32_t>(shape_.rows); ++r) all.push_back({r, r});
    program_->take_states(*before, all);
    session_.forget(model_.decode, static_cast<int64_t>(shorter));
}

// The inputs of a program that are the same for every step.
void Sequences::write_what_stays() {
    const plan::GraphPlan &plan = program_->plan();
    for (const auto &[name, tensor] : given_) program_->write(plan.inputs.at(name), tensor.bytes());
    if (model_.sees()) { // until there are images
        const int32_t rows = plan.inputs.at(model_.image_rows);
        program_->write(rows, Tensor(plan.tensors[static_cast<size_t>(rows)].type).bytes());
    }
    const auto bias = plan.inputs.find(plan::candidate_bias);
    if (bias == plan.inputs.end()) return;
    Tensor suppressed(plan.tensors[static_cast<size_t>(bias->second)].type);
    for (const int32_t token : session_.model->tokens.suppress)
        suppressed.f32()[static_cast<size_t>(token)] = suppressing;
    program_->write(bias->second, suppressed.bytes());
}

void Sequences::fill(Tokens tokens) {
    size_t longest = 1;
    for (const auto ids : tokens) longest = std::max(longest, ids.size());
    const size_t rows = rows_for(tokens);
    tokens = tokens.first(std::min(rows, tokens.size()));
    for (size_t first = 0; first + 1 < longest;) {
        // A block may be longer than what is left of the tokens, but not than what is left of the positions.
        size_t positions = shape_.positions;
        for (size_t r = 0; r < tokens.size(); ++r)
            if (is_kept(tokens[r])) positions = std::min(positions, shape_.positions - taken_[r].size());
        const size_t left = longest - 1 - first, whole = std::bit_floor(left);
        const bool filled_up = left - whole > whole / 2; // rather than one more block: a quarter of it is filler
        size_t length = std::min(filled_up ? 2 * whole : whole, std::bit_floor(std::min(longest_block, positions)));
        const size_t count = model_.sees_ahead() ? with_whole_images(tokens.front(), first, length) : length;
        if (count > length) length = std::min(std::bit_ceil(count), positions);
        run_block(tokens, rows, first, count, length);
        first += count;
    }
}

// Gives every row the tokens [first, first + count) of its own, less its last one, in a program for `length` of them.
// What follows them is computed from filler; the next token takes its place in the caches. If they see the last one, it
// takes the place of filler itself.
void Sequences::run_block(Tokens tokens, size_t rows, size_t first, size_t count, size_t length) {
    std::vector<std::span<const int32_t>> block(tokens.size());
    ids_.assign(rows * length, filler);
    std::ranges::fill(lengths_, 0);
    for (size_t r = 0; r < tokens.size(); ++r) {
        if (first + 1 < tokens[r].size())
            block[r] = tokens[r].subspan(first, std::min(tokens[r].size() - 1 - first, count));
        std::ranges::copy(block[r], ids_.begin() + static_cast<std::ptrdiff_t>(r * length));
        lengths_[r] = static_cast<int32_t>(block[r].size());
        const size_t last = first + block[r].size();
        if (model_.sees_ahead() && !block[r].empty() && last + 1 == tokens[r].size() && within_image(tokens[r], last))
            ids_[r * length + block[r].size()] = tokens[r][last];
    }
    use_program(rows, length, Gives::nothing, longest_of(tokens) + length);
    run_at_ends(length);
    for (size_t r = 0; r < tokens.size(); ++r) taken_[r].insert(taken_[r].end(), block[r].begin(), block[r].end());
}

void Sequences::step(Tokens tokens, bool scores) {
    const size_t rows = rows_for(tokens);
    tokens = tokens.first(std::min(rows, tokens.size()));
    ids_.assign(rows, filler);
    std::ranges::fill(lengths_, 0);
    for (size_t r = 0; r < tokens.size(); ++r)
        if (!tokens[r].empty()) ids_[r] = tokens[r].back(), lengths_[r] = 1;
    use_program(rows, 1, scores ? Gives::scores : Gives::candidates, longest_of(tokens) + 1);
    run_at_ends(1);
    for (size_t r = 0; r < tokens.size(); ++r)
        if (!tokens[r].empty()) taken_[r].push_back(tokens[r].back());
}

void Sequences::check(std::span<const int32_t> tokens) {
    const size_t length = std::bit_ceil(tokens.size());
    ids_.assign(length, filler);
    std::ranges::copy(tokens, ids_.begin());
    lengths_.front() = static_cast<int32_t>(tokens.size());
    use_program(1, length, Gives::all, taken_.front().size() + length);
    run_at_ends(length);
    taken_.front().insert(taken_.front().end(), tokens.begin(), tokens.end());
}

void Sequences::run_whole(Tokens tokens) {
    ids_.assign(shape_.rows * shape_.longest, filler);
    for (size_t r = 0; r < shape_.rows; ++r) {
        if (r < tokens.size()) taken_[r].insert(taken_[r].end(), tokens[r].begin(), tokens[r].end());
        std::ranges::copy(taken_[r], ids_.begin() + static_cast<std::ptrdiff_t>(r * shape_.longest));
        lengths_[r] = static_cast<int32_t>(taken_[r].size());
    }
    run(); // from position 0
}

// How many tokens the longest row has of those that lose none.
size_t Sequences::longest_of(Tokens tokens) const {
    size_t longest = 0;
    for (size_t r = 0; r < tokens.size(); ++r)
        if (is_kept(tokens[r])) longest = std::max(longest, taken_[r].size());
    return longest;
}

// So many tokens of each row go behind those that it has. A row that rests may be so long that filler takes the place
// of its last ones.
void Sequences::run_at_ends(size_t length) {
    for (size_t r = 0; r < rows_; ++r) {
        if (taken_[r].size() + length > shape_.capacity) keep(r, shape_.capacity - length);
        positions_[r] = static_cast<int32_t>(taken_[r].size());
    }
    run();
}

// The tokens of an image see those of it that come after them.
void Sequences::write_images_ahead() {
    image_ahead_.assign(ids_.size(), 0);
    for (size_t i = ids_.size() - 1; i-- > 0;)
        if ((i + 1) % length_ != 0 && ids_[i] < 0 && ids_[i + 1] < 0) image_ahead_[i] = image_ahead_[i + 1] + 1;
    program_->write(program_->plan().inputs.at(model_.image_ahead), std::as_bytes(std::span(image_ahead_)));
}

// They follow from all tokens of a row, of which positions_ have been computed before.
void Sequences::write_coordinates() {
    coordinates_.assign(ids_.size() * 3, 0);
    for (size_t r = 0; r < rows_; ++r) {
        if (lengths_[r] == 0) continue;
        Coordinates row(session_.images);
        row.pass(std::span(taken_[r]).first(static_cast<size_t>(positions_[r])));
        const size_t begin = r * length_;
        for (size_t i = begin; i < begin + static_cast<size_t>(lengths_[r]); ++i)
            std::ranges::copy(row.of(ids_[i]), coordinates_.begin() + static_cast<std::ptrdiff_t>(3 * i));
    }
    program_->write(program_->plan().inputs.at(model_.coordinates), std::as_bytes(std::span(coordinates_)));
}

// Ids below zero are of images: the decoder gets what the image shows there instead. Or they are of a whole prompt.
void Sequences::write_images() {
    const plan::GraphPlan &plan = program_->plan();
    const auto width = static_cast<size_t>(model_.image_channels);
    const int32_t token = session_.model->images ? session_.model->images->place.value().given : filler;
    if (model_.sees_ahead()) write_images_ahead();
    image_mask_.assign(ids_.size(), 0);
    bool any = false;
    for (size_t i = 0; i < ids_.size(); ++i) {
        if (ids_[i] >= 0) continue;
        const detail::SeenImages::Row row = session_.images.row(ids_[i]);
        if (row.word >= 0) {
            ids_[i] = row.word;
            continue;
        }
        if (!std::exchange(any, true)) image_rows_.resize(ids_.size() * width);
        std::ranges::copy(row.values, image_rows_.begin() + static_cast<std::ptrdiff_t>(i * width));
        image_mask_[i] = 1;
        ids_[i] = token;
    }
    program_->write(plan.inputs.at(model_.image_mask), std::as_bytes(std::span(image_mask_)));
    if (any) program_->write(plan.inputs.at(model_.image_rows), std::as_bytes(std::span(image_rows_)));
}

void Sequences::run() {
    session_.runtime->working();
    if (!model_.coordinates.empty()) write_coordinates();
    if (model_.sees()) write_images();
    program_->write(program_->plan().inputs.at(model_.target_ids), std::as_bytes(std::span(ids_)));
    program_->write(program_->plan().inputs.at(model_.position), std::as_bytes(std::span(positions_).first(rows_)));
    if (model_.recurrent())
        program_->write(program_->plan().inputs.at(model_.target_lengths),
                        std::as_bytes(std::span(lengths_).first(rows_)));
    program_->run(moved_);
    moved_.clear();
}

void Sequences::keep(size_t row, size_t tokens) {
    Ids &ids = taken_[row];
    if (tokens < ids.size()) ids.resize(model_.recurrent() ? 0 : tokens);
}

void Sequences::copy(size_t row, Sequences &from, size_t from_row) {
    taken_[row] = from.taken_[from_row];
    if (taken_[row].empty()) return;
    make_room(taken_[row].size());
    const plan::SequenceCopy one{from.place_of(from_row), static_cast<int32_t>(row)};
    program_->take_states(*from.program_, {&one, 1});
    if (!moved_.empty()) moved_[row] = static_cast<int32_t>(row);
}

void Sequences::share(size_t row, size_t from, size_t tokens) {
    settle();
    program_->copy_sequence({static_cast<int32_t>(from), static_cast<int32_t>(row)});
    taken_[row] = taken_[from];
    keep(row, tokens);
}

void Sequences::trade(size_t row, size_t with, Sequences &others) {
    settle();
    const auto move = [this](size_t from, size_t to) {
        program_->copy_sequence({static_cast<int32_t>(from), static_cast<int32_t>(to)});
    };
    if (taken_[row].empty() || taken_[with].empty()) {
        taken_[row].empty() ? move(with, row) : move(row, with);
        return std::swap(taken_[row], taken_[with]);
    }
    others.copy(0, *this, row);
    move(with, row);
    std::swap(taken_[row], taken_[with]);
    copy(with, others, 0);
}

// The caches follow now.
void Sequences::settle() {
    for (size_t r = 0; r < moved_.size(); ++r) program_->copy_sequence({moved_[r], static_cast<int32_t>(r)});
    moved_.clear();
}

// Where the caches of a row are, until they follow.
int32_t Sequences::place_of(size_t row) const { return moved_.empty() ? static_cast<int32_t>(row) : moved_[row]; }

void Sequences::reorder(std::span<const int32_t> rows) {
    bool moves = false;
    for (size_t r = 0; r < rows.size(); ++r) {
        const auto from = static_cast<size_t>(rows[r]);
        if (from == r) continue;
        taken_[r] = taken_[from];
        moves = shape_.capacity != 0;
    }
    if (!moves) return;
    if (moved_.empty()) return moved_.assign(rows.begin(), rows.end());
    places_.assign(moved_.begin(), moved_.end());
    for (size_t r = 0; r < rows.size(); ++r) moved_[r] = places_[static_cast<size_t>(rows[r])];
}

} // namespace lamina::generation
