// Texts that are generated side by side.
#pragma once

#include "generation/decoder.hpp"
#include "generation/search.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace lamina::generation {

// A text has a slot: as many rows of a decoder as it has beams. When it is done, the next text takes the slot while the
// others go on. With an encoder, whose outputs have a row for each text and are as long as the longest source, the next
// texts begin when all have ended.
class Slots {
  public:
    struct Shape {
        size_t texts = 0;  // side by side
        size_t beams = 1;  // of every text
        size_t length = 0; // tokens that a text may have, prefix included
        bool cached = true;
        size_t sure = 0, candidates = 0; // as Decoder::Shape
    };
    Slots(detail::SessionState &session, const Shape &shape) : session_(session), shape_(shape) {}

    // Refuses what does not fit into memory, and makes what does not depend on the texts.
    void prepare();

    // The text waits for a slot. Its options have shape.beams beams.
    void add(uint64_t id, Task task);
    // Forgets a text. Returns false if there is none of this id.
    bool cancel(uint64_t id);
    [[nodiscard]] bool empty() const { return waiting_.empty() && !is_running(); }

    // What a step has brought a text.
    struct Progress {
        uint64_t id = 0;
        std::span<const int32_t> tokens;             // of its first beam so far; at the end, of its best candidate
        std::optional<std::vector<Candidate>> found; // set when it is done
        size_t reused = 0;                           // tokens of the prefix that were in the caches
        std::optional<Error> failed{};               // why it has ended without an answer
    };
    // Gives waiting texts the free slots, and every text in a slot its next token. Returns what became of these, until
    // the next step. After an error, or when somebody else has used the session, the texts continue from the tokens
    // that they have.
    std::span<Progress> step();

  private:
    struct Text {
        uint64_t id;
        Search search;
    };
    [[nodiscard]] bool is_running() const;
    void withdraw();
    void seat();
    void make_decoder();
    void take_slot(Text text);
    void advance();
    [[nodiscard]] bool needs_all_scores() const;

    detail::SessionState &session_;
    Shape shape_;
    std::list<Text> waiting_;
    std::vector<std::optional<Text>> slots_; // of the decoder
    std::unique_ptr<Decoder> decoder_;
    // Of a step: by row what the decoder is given and which row each continues, and by slot whose prompts are being
    // read.
    std::vector<std::span<const int32_t>> tokens_;
    Ids parents_;
    std::vector<bool> reading_;
    std::vector<Progress> progress_;
};

} // namespace lamina::generation
