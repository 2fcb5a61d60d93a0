// Chooses tokens from a decoder's scores: greedy, beam search, sampling.
#pragma once

#include "generation/processors.hpp"
#include "generation/sampling.hpp"
#include "generation/scores.hpp"
#include "generation/sources.hpp"
#include "generation/token_scores.hpp"
#include "grammar/constraint.hpp"
#include "session/seen_images.hpp"

#include <lamina/lamina.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace lamina::generation {

struct Candidate {
    Ids tokens;                 // without prefix and end
    double log_probability = 0; // of tokens and, where it was reached, the end
    double score = 0; // log_probability / length^length_penalty; what candidates are ranked by; the end counts
    Finish finish = Finish::length;
    std::vector<ScoredToken> scores{}; // of the tokens, without texts, if they are wanted
    size_t guessed = 0, accepted = 0;  // as Hypothesis
    std::vector<ScoredToken> prompt_scores{};
    Ids prefix{}; // with an encoder
};

// A text to be generated.
struct Task {
    Source source;           // for the encoder; without one it is not looked at
    std::vector<Ids> prefix; // what the text begins with, place by place: the start tokens, and without an encoder the
                             // prompt. Not empty. Of several tokens for a place, the likeliest is taken
    std::optional<int32_t> first{}; // token after that, whatever its score; none: as model::Decoding says
    uint64_t number = 0;            // so that a text is sampled the same in every batch
    size_t max_length = 0;          // tokens beyond the prefix, the end not counted
    size_t positions = 0;           // tokens that there are positions for, prefix included
    std::shared_ptr<const GenerateOptions> options;
    std::vector<detail::SeenImages::One> images{}; // whose tokens are in the prefix
};

// The search for a text: options.beams candidates, best first. One beam is greedy search, token for token. Beam search
// is that of transformers (generation/utils.py, release 5; Wu et al., arXiv:1609.08144, section 7):
// model::EarlyStopping says when it ends. Sampling (temperature > 0): Holtzman et al., arXiv:1904.09751, for top_p;
// beams are then independent samples, or, if they compete, those of transformers: of what would extend them, the best
// are not looked at, but as many that are drawn.
class Search {
  public:
    Search(const model::Model &model, Task task);

    [[nodiscard]] const Task &task() const { return task_; }
    [[nodiscard]] bool done() const { return done_; }

    // All tokens of a beam, prefix included. What returns tokens returns them as they are until the next advance().
    [[nodiscard]] std::span<const int32_t> whole(size_t beam) const { return live_[beam].tokens; }
    // The decoder has so many of them now, for each beam: none when it is new, or when it has lost what it had.
    void begin(size_t fed);
    // It has so many more of the prompt, which is not at its end.
    void feed(size_t tokens) { fed_ += tokens; }
    // The same, from another text.
    void share(size_t tokens) {
        fed_ += tokens;
        if (steps_ == 0) reused_ += tokens;
    }
    // So many guesses were checked, and were right.
    void guess(size_t checked, size_t right) {
        guessed_ += checked;
        accepted_ += right;
    }
    [[nodiscard]] size_t fed() const { return fed_; }
    // Whether there are tokens of the prompt whose scores are wanted and not known. Then score() takes those of what
    // follows each token that the decoder is given before the last one.
    [[nodiscard]] bool wants_prompt_scores() const {
        return options().prompt_scores && prompt_scores_.size() + 1 < prefix_;
    }
    void score(std::span<const Scores> scores);
    // What a beam gives to the decoder next; nothing for a beam that is not in use.
    [[nodiscard]] std::span<const int32_t> next(size_t beam) const;
    // Takes the scores of each beam's next token; `parents` gets the beam that each beam continues, as
    // Decoder::reorder() takes it. After an error the search is over.
    void advance(std::span<const Scores> scores, std::span<int32_t> parents);

    // How many candidates decide the steps of such a text, at least most of them; 0: only all scores do. `options` are
    // as resolved() gives them.
    [[nodiscard]] static size_t candidates(const model::Model &model, const GenerateOptions &options);
    [[nodiscard]] size_t candidates() const { return candidates(model_, options()); }

    // Of the first beam, without the prefix.
    [[nodiscard]] std::span<const int32_t> tokens() const { return without_prefix(0); }
    // Theirs, without texts, if the options want them.
    [[nodiscard]] std::span<const ScoredToken> scores() const { return live_.front().scores; }
    // Of the prompt, likewise.
    [[nodiscard]] std::span<const ScoredToken> prompt_scores() const { return prompt_scores_; }
    [[nodiscard]] size_t reused() const { return reused_; } // tokens that the decoder had at the beginning
    [[nodiscard]] std::vector<Candidate> take();

  private:
    struct Beam {
        Ids tokens;                         // prefix included
        double log_probability = 0;         // -infinity: not in use
        grammar::Constraint::Place place{}; // in the grammar
        std::vector<ScoredToken> scores{};  // of the tokens beyond the prefix, if they are wanted
        SampleMemory memory{};              // of a sample
    };
    struct Drawn {
        int32_t token = 0;
        double log_probability = 0;
        SampleMemory before{}; // of the beam
    };
    struct Choice {
        double log_probability;
        size_t beam, place; // it is at this place of the beam's likeliest tokens
        int32_t token;
        std::optional<size_t> row{}; // the beam that continues so
        double luck = 0;             // the largest are drawn
    };

    [[nodiscard]] const GenerateOptions &options() const { return *task_.options; }
    [[nodiscard]] bool samples_beams() const { return generation::samples_beams(options()); }
    // Whether each beam is a sample of its own.
    [[nodiscard]] bool sampled() const { return options().temperature > 0 && !samples_beams(); }
    // Whether extensions of several beams compete, by their log probabilities before these are changed.
    [[nodiscard]] bool competes() const { return !sampled() && live_.size() > 1; }
    [[nodiscard]] bool ends(int32_t token) const;
    [[nodiscard]] std::span<const int32_t> without_prefix(size_t beam) const { return whole(beam).subspan(prefix_); }
    [[nodiscard]] size_t longest() const; // tokens that a text may have beyond the prefix
    [[nodiscard]] Unfinished unfinished(size_t beam) const;
    [[nodiscard]] std::optional<Finish> finish_of(size_t beam, int32_t token);
    [[nodiscard]] bool stops_at(size_t beam, int32_t token);
    [[nodiscard]] double score_of(double log_probability, size_t length) const;
    [[nodiscard]] bool may_improve() const;
    void take_token(int32_t token);
    void take_places();
    bool take_choice(const Scores &scores);
    [[nodiscard]] std::shared_ptr<const grammar::TokenSet> following(size_t beam);
    [[nodiscard]] bool completes(size_t beam, int32_t token);
    [[nodiscard]] bool may_follow(int32_t token) const;
    [[nodiscard]] size_t choosable(const Scores &scores) const;
    void take_forced();
    bool rank_known(const Scores &scores, size_t beam);
    void rank(const Scores &scores, size_t beam, size_t count);
    void rank_all(const Scores &scores, size_t beam, size_t count);
    void find_choices(std::span<const Scores> scores);
    void leave_out_unsampled(size_t beam);
    void draw_choices(size_t most, size_t vocabulary);
    void extend(std::span<const Scores> scores, std::span<int32_t> parents);
    void place_choices(std::span<int32_t> parents);
    void sample(std::span<const Scores> scores);
    size_t draw_place(const Scores &scores, size_t beam);
    void finish(size_t beam, int32_t token, double log_probability, Finish how);

    const model::Model &model_;
    Task task_;
    Processors processors_;
    std::shared_ptr<grammar::Constraint> constraint_;    // of the grammar, if there is one
    std::shared_ptr<const grammar::TokenSet> following_; // by it, of the beam whose tokens are ranked
    size_t prefix_ = 0;                                  // its tokens, as far as they are known
    size_t fed_ = 0, reused_ = 0;                        // of the tokens of each beam
    size_t steps_ = 0;                                   // taken
    size_t guessed_ = 0, accepted_ = 0;
    std::vector<Beam> live_;
    std::vector<ScoredToken> prompt_scores_; // so far, without texts
    std::vector<TokenScores> seen_;          // by beam, in this step; none if nobody wants them
    std::vector<Candidate> finished_;        // best first, at most as many as there are beams
    std::vector<double> log_probabilities_;  // of the likeliest tokens of a beam, the likeliest first
    std::vector<int32_t> tokens_;            // these
    Ids room_;                               // for processors
    std::vector<double> weights_;            // of which a token is drawn
    std::vector<Choice> choices_;            // of all beams, the likeliest first
    std::vector<Drawn> drawn_;               // of each beam
    bool done_ = false;
};

} // namespace lamina::generation
