// Sequences that go through the programs of the decode graph side by side, each at its own position, and the key-value
// caches that these programs share.
#pragma once

#include "generation/sources.hpp"
#include "plan/graph_plan.hpp"
#include "session/state.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace lamina::generation {

inline constexpr size_t longest_block = 256;  // tokens of a prompt that go through a program at once
inline constexpr size_t first_capacity = 256; // of caches, in tokens; they grow when they are full

// Of each row; none: the row rests. What a row has that rests is kept if its span has a pointer, like that of a text
// whose turn it is not; of others, the last tokens may be lost.
using Tokens = std::span<const std::span<const int32_t>>;

// Only the first rows are computed, as many as a step has tokens for: there is a program for each power of two.
class Sequences {
  public:
    struct Shape {
        size_t rows = 0;                              // a power of two
        size_t longest = 0;                           // tokens that a sequence may have here
        size_t positions = 0;                         // tokens that the model has positions for
        size_t capacity = 0;                          // of the caches, in tokens; 0: there are none
        std::optional<plan::Candidates> candidates{}; // that programs which give scores choose
        bool narrow = false;                          // steps for fewer rows have programs of fewer
    };
    // `given`: what programs take beside tokens and their positions. It must outlive this.
    Sequences(detail::SessionState &session, const TensorMap &given, const Shape &shape);

    // Makes the programs that give scores, the one of most rows last.
    void prepare();
    // The tokens of each row before its last one go into the caches, in blocks, through programs without the layers
    // that only scores need. Images whose tokens see each other may be of a single row alone.
    void fill(Tokens tokens);
    // Then the last ones: program() has the scores of what follows them, or the candidates. `scores`: both.
    void step(Tokens tokens, bool scores);
    // The first row takes all of the tokens: program() has the scores of what follows each.
    // If may_check().
    void check(std::span<const int32_t> tokens);
    // Without caches: whole sequences, from their first token.
    void run_whole(Tokens tokens);

    // Caches have room for so many tokens a row.
    void make_room(size_t tokens) {
        if (program_ == nullptr || tokens > shape_.capacity)
            use_program(std::max<size_t>(rows_, 1), 1, Gives::nothing, tokens);
    }
    // The row gets the tokens and the part of the caches that a row of others has.
    void copy(size_t row, Sequences &from, size_t from_row);
    // The row gets the first tokens of another row; all of them, if the model cannot take only some.
    void share(size_t row, size_t from, size_t tokens);
    // Two rows trade places, by way of the first row of `others`.
    void trade(size_t row, size_t with, Sequences &others);
    // Row r continues from the tokens of row rows[r], which goes on from its own. The caches follow with the next run,
    // and until then no other text takes such a row.
    void reorder(std::span<const int32_t> rows);
    // The rows of programs that compute these tokens.
    [[nodiscard]] size_t rows_for(Tokens tokens) const;
    // Whether the caches hold what taken() says.
    [[nodiscard]] bool in_order() const { return moved_.empty(); }

    // The tokens that each row has in the caches.
    [[nodiscard]] const Ids &taken(size_t row) const { return taken_[row]; }
    // Forgets all but the first tokens of a row; all of them, if the model cannot forget only some.
    void keep(size_t row, size_t tokens);
    // All rows that caches hold, for another that takes them up.
    [[nodiscard]] detail::CachedTexts give_back() { return {shape_.capacity, std::move(taken_), std::move(program_)}; }
    void take_up(std::vector<Ids> taken) { taken_ = std::move(taken); }
    [[nodiscard]] plan::Program &program() const { return *program_; }
    [[nodiscard]] size_t rows() const { return rows_; } // of program()
    [[nodiscard]] size_t capacity() const { return shape_.capacity; }
    // Tokens of each row that program() takes, without caches.
    [[nodiscard]] size_t whole_length() const { return shape_.longest; }
    // Whether one row can be computed alone.
    [[nodiscard]] bool may_check() const { return (shape_.narrow || shape_.rows == 1) && shape_.capacity != 0; }

  private:
    enum class Gives { nothing, candidates, scores, all };
    void use_program(size_t rows, size_t length, Gives gives, size_t needed);
    void write_what_stays();
    void run_block(Tokens tokens, size_t rows, size_t first, size_t count, size_t length);
    void run_at_ends(size_t length);
    void write_images();
    void write_coordinates();
    void write_images_ahead();
    void run();
    void settle();
    [[nodiscard]] size_t longest_of(Tokens tokens) const;
    [[nodiscard]] int32_t place_of(size_t row) const;

    detail::SessionState &session_;
    const model::Generation &model_;
    const TensorMap &given_;
    Shape shape_;
    std::vector<Ids> taken_;
    std::shared_ptr<plan::Program> program_; // in use: of so many rows, and tokens a row
    size_t rows_ = 0, length_ = 0;
    Gives gives_ = Gives::candidates;
    std::vector<int32_t> ids_, positions_, lengths_; // that it takes: of all rows
    std::vector<int32_t> image_mask_;                // likewise: which ids are of images
    std::vector<int32_t> image_ahead_;               // and how many of its image come after each
    std::vector<float> image_rows_;
    std::vector<int32_t> coordinates_; // of the ids, three each
    std::vector<int32_t> moved_;       // rows as reorder() has them, until the caches follow; empty: they have
    std::vector<int32_t> places_;      // these, before rows move again
};

// The shapes of the decode graph for so many rows and tokens a row.
[[nodiscard]] plan::GraphShapes decode_shapes(const model::Generation &model, const TensorMap &given, size_t rows,
                                              size_t length, size_t capacity);

} // namespace lamina::generation
