// Texts that are generated side by side.
#pragma once

#include "generation/decoder.hpp"
#include "generation/guesses.hpp"
#include "generation/pace.hpp"
#include "generation/search.hpp"

#include "base/turns.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace lamina::generation {

// A text has a slot: as many rows of a decoder as it has beams. When it is done, the next text takes the slot while the
// others go on. With an encoder, whose outputs have a row for each text and are as long as the longest source, the next
// texts begin when all have ended.
//
// Texts have owners, who take turns as Turns has them: with free slots, where those in slots count as under way, and
// with parts of prompts.
//
// The caches of a slot stay when its text has ended, until another text needs the slot: then the one goes that has been
// used longest ago. A text with GenerateOptions::reuse goes on in a slot that holds its beginning, or gets a copy of
// what it has in common with any other.
class Slots {
  public:
    struct Shape {
        size_t texts = 0;  // side by side
        size_t beams = 1;  // of every text
        size_t length = 0; // tokens that a text may have, prefix included
        bool cached = true;
        size_t sure = 0, candidates = 0; // as Decoder::Shape
        bool parts = false;              // long prompts are read in parts, between the tokens of other texts
        // A step computes only as many texts as there are, rounded up to a power of 2. Not with an encoder, whose rows
        // stay where they are.
        bool narrow = false;
    };
    Slots(detail::SessionState &session, const Shape &shape);

    // Refuses what does not fit into memory, and makes what does not depend on the texts.
    void prepare();

    // The text waits for a slot. Its options have shape.beams beams.
    void add(uint64_t id, Search search, Owner owner = {});
    // Forgets a text. Returns false if there is none of this id.
    bool cancel(uint64_t id);
    [[nodiscard]] bool empty() const { return waiting_.empty() && !is_running(); }

    // What a step has brought a text.
    struct Progress {
        uint64_t id = 0;
        std::span<const int32_t> tokens;             // of its first beam so far; at the end, of its best candidate
        std::optional<std::vector<Candidate>> found; // set when it is done
        size_t reused = 0;                           // tokens of the prefix that were in the caches
        std::span<const ScoredToken> scores{};       // of these tokens, if the options want them
        std::span<const ScoredToken> prompt_scores{};
        std::optional<Error> failed{}; // why it has ended without an answer
        size_t row = 0;                // the first of its rows, among those of encoded()
    };
    // Gives waiting texts the free slots, and every text in a slot its next token. Returns what became of these, until
    // the next step. Where there is no memory for longer caches, the text that needs them fails. After that or an
    // error, or when somebody else has used the session, the texts continue from the tokens that they have; what ended
    // before an error is returned by the next step.
    std::span<Progress> step();

    // What the decoder was given of the sources of the last step.
    [[nodiscard]] const TensorMap &encoded() const { return decoder_->encoded(); }

    // What the slots hold; nothing before the first step.
    struct Held {
        uint64_t id = 0;   // of the text; 0: none
        size_t tokens = 0; // in its caches, which stay when a text has ended
    };
    [[nodiscard]] std::vector<Held> held() const {
        std::vector<Held> out(slots_.size());
        const bool caches = decoder_ && decoder_->holds_caches();
        for (size_t i = 0; i < out.size(); ++i)
            out[i] = {slots_[i] ? slots_[i]->id : 0, caches ? decoder_->taken(i * shape_.beams) : 0};
        return out;
    }

  private:
    struct Text {
        uint64_t id;
        Owner owner;
        Search search;
        std::pair<uint64_t, uint64_t> turn{}; // in which a prompt of its client was read last, and of its request
    };
    [[nodiscard]] size_t running() const;
    [[nodiscard]] Turns<Text>::Busy running_of(const Owner &owner) const;
    [[nodiscard]] bool is_running() const { return running() != 0; }
    void withdraw();
    void seat();
    [[nodiscard]] bool keeps_the_last() const;
    void seat_together();
    void make_decoder(const std::vector<Source> &sources = {});
    [[nodiscard]] Text take_next();
    void take_slot(Text text);
    void begin(size_t slot, bool reuse);
    void close_up();
    [[nodiscard]] size_t free_slot_for(const Search &search) const;
    void divide_prompts();
    void share(size_t slot);
    [[nodiscard]] bool writes_beside() const;
    void take_turn(const Owner &owner);
    void advance();
    void look_ahead();
    void score_prompts();
    [[nodiscard]] static bool reuses(const Search &search);
    [[nodiscard]] size_t tokens_at(size_t slot) const;
    std::span<const Scores> compute();
    void accept(Search &search, std::span<const Scores> scores, std::span<int32_t> parents);
    void fail_text(size_t slot, const Error &why);
    void fail_longest(const Error &why);
    void fail(size_t slot, size_t tokens, const Error &why); // for want of memory
    [[nodiscard]] bool needs_all_scores() const;

    detail::SessionState &session_;
    Shape shape_;
    Turns<Text> waiting_;
    std::vector<std::optional<Text>> slots_; // of the decoder
    std::vector<uint64_t> used_;             // by slot: the last step of a text that wants to reuse caches; 0: none
    uint64_t steps_ = 0;
    std::unique_ptr<Decoder> decoder_;
    // Of a step: by row what the decoder is given and which row each continues, and by slot whose prompts go on.
    std::vector<std::span<const int32_t>> tokens_;
    Ids parents_;
    std::vector<bool> reading_;
    std::optional<size_t> scored_{}; // the slot whose prompt is being scored
    std::vector<Progress> progress_;
    bool told_ = false;           // step() has returned progress_
    std::vector<size_t> readers_; // slots whose prompts are read in this step, the next in turn first
    uint64_t turn_ = 0;
    std::unique_ptr<GuessSource> source_;
    Guesses guesses_;
    std::chrono::steady_clock::time_point began_; // the step
    Ids ahead_; // of the only text: its last token and what may follow, if that is to be checked in this step
    Pace pace_;
    bool others_write_ = false; // in this step, beside prompts of other requests
    size_t read_ = 0;           // tokens of prompts, in this step
};

} // namespace lamina::generation
