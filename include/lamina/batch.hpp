// Generates texts that come and go, as a server needs it: a text may join while others are being written, and each has
// options of its own.
//
//     lamina::Batch batch(session, {.slots = 8});
//     batch.add("The capital of France is");
//     batch.add("Roses are red,", {.temperature = 0.7});
//     while (!batch.empty())
//         for (const lamina::Batch::Progress &text : batch.step()) std::cout << text.id << ": " << text.piece << '\n';
//
// A text that ends makes room for one that waits. (The texts of a model with an encoder begin together, when the ones
// before have ended.) Each gets the same answer as from Session::generate() with its options. A step computes only the
// texts that are there: with k of them, a program for k rows, rounded up to a power of two.
//
// Texts may have owners: clients take turns, and so do the requests of a client. A free slot goes to the client with
// the fewest texts in slots, and of several to the one who has waited longest; the last of four or more goes only to a
// request that has none. Long prompts are read in parts, between the tokens of other texts.
//
// Any thread may use a batch. add(), cancel() and empty() do not wait for a step that another thread is taking.
#pragma once

#include <lamina/lamina.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lamina {

namespace detail {
struct BatchState;
}

struct BatchOptions {
    size_t slots = 8; // texts that are written at the same time; others wait
    // Tokens that a text may have, its prompt included, and what an encoder may read; 0: as many as the model takes.
    int64_t length = 0;
};

// Whose a text is: any numbers. Request 0 is none: such texts may have all slots.
struct BatchOwner {
    uint64_t client = 0, request = 0;
};

// What there is memory for.
struct BatchRoom {
    size_t slots = 0;
    int64_t length = 0;
    bool whole = true;   // as much as was wanted
    uint64_t caches = 0; // bytes that keys and values take when all texts are so long; 0: unknown, with an encoder
};

// As many slots as are wanted and texts as long, or fewer slots, or else shorter texts, as there is memory for on the
// session's device: never less than one slot of 256 tokens, which a Batch may still refuse. `promised`: bytes that
// others are going to take, such as the caches of other batches, which grow with their texts. Nothing is uploaded.
// Throws as the constructor of Batch.
[[nodiscard]] BatchRoom room_for(const Session &session, const BatchOptions &wanted = {}, uint64_t promised = 0);

class Batch {
  public:
    // Throws Error(memory) if there is no room for as many texts of this length, Error(input) for a model that takes no
    // text.
    explicit Batch(const Session &session, const BatchOptions &options = {});
    Batch(const Batch &) = default;
    Batch &operator=(const Batch &) = default;
    ~Batch() = default;

    // A text to be continued, or for a model with an encoder to be read. Returns its id. Throws Error(input) for a text
    // that Session::generate() refuses or that is longer than BatchOptions::length, and Error(usage) for options that
    // it refuses and for beams, hypotheses, cached, progress, stream and failed, which must be as they are by default;
    // the other texts are not affected.
    uint64_t add(const std::string &text, const GenerateOptions &options = {}, const BatchOwner &owner = {});
    // The same of a text that is token ids already, as token_ids() of texts.hpp gives them: nothing is put around them.
    // Throws Error(input) for an id that is none of the model's, too. Those below zero are of images, as
    // image_prompt_ids() of image.hpp gives them for this session.
    uint64_t add_ids(const std::vector<int32_t> &ids, const GenerateOptions &options = {},
                     const BatchOwner &owner = {});
    // The text ends without a result. False if no text has this id, or has it any more.
    bool cancel(uint64_t id);

    // What a step has brought a text.
    struct Progress {
        uint64_t id = 0;
        std::string piece;                  // new, in whole characters; often empty
        std::optional<Hypothesis> finished; // the whole text, when it has ended
        // Or why it has ended without: one of its scores is NaN or infinite, or there is no memory for caches as long
        // as this text, which was the longest.
        std::optional<Error> failed;
        std::vector<ScoredToken> scores{};        // of new tokens, if GenerateOptions::likeliest is given
        std::vector<ScoredToken> prompt_scores{}; // as Hypothesis has them, once: with the first token
    };
    // Computes the next token of every text that has a slot. If it throws, no text is lost: the next step tries again.
    [[nodiscard]] std::vector<Progress> step();

    // What the slots hold, the first one first; nothing before the first step. Waits for a step that another thread is
    // taking.
    struct Slot {
        uint64_t id = 0;   // of the text that is in it; 0: none
        size_t tokens = 0; // in its caches, which stay when a text has ended, until another one needs the slot
    };
    [[nodiscard]] std::vector<Slot> slots() const;

    // Whether all texts have ended.
    [[nodiscard]] bool empty() const;

  private:
    std::shared_ptr<detail::BatchState> state_;
};

} // namespace lamina
