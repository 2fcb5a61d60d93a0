// Vectors and classes of texts, and words that are missing in them, from models such as BERT. Also the token ids of
// texts, and the graphs that a model runs for them. To generate text, Session::generate() in lamina.hpp is enough.
//
//     const lamina::Tensor vectors = lamina::embed(session, {"A man plays the guitar.", "It rains."}); // (2, C)
//
//     for (const lamina::GraphRun &run : lamina::graph_runs(session, {"vulkan"}))
//         for (const auto &[name, tensor] : session.run(run.graph, run.inputs, {"*"}))
//             std::cout << name << ": " << lamina::to_string(tensor.shape()) << '\n';
#pragma once

#include <lamina/chat_template.hpp>
#include <lamina/lamina.hpp>
#include <lamina/tokenizer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lamina {

// ---- Vectors and classes ----

struct ReadOptions {
    size_t batch = 32;     // how many texts are processed together
    bool truncate = false; // true: a text that is too long for the model is cut; false: it is an error
    // The name of the prompt that is put before each text, such as "query"; "": none. Default: the one that the model's
    // makers chose, if any. TextReading::prompts lists them. A reranker that is asked (TextReading::pairs) is told it.
    std::optional<std::string> prompt{};
    std::optional<std::string> prompt_text{}; // what is put before each text, in place of a prompt by name
    std::function<void(size_t done, size_t all)> progress{}; // after every batch
    // embed(): true: a text that is too long is read in windows, whose vectors become one: windows_of() below. Not with
    // `truncate`.
    bool windows = false;
    bool raw_scores = false; // true: classes have the values of the model, which are no probabilities yet
};

struct LabelScore {
    std::string label;
    double score = 0; // a probability, or the value itself for regression
};

// Two texts that are read together: a query and a document, a premise and a hypothesis. If they are too long and may be
// cut, the longer one loses tokens first, as with transformers' "longest_first".
struct TextPair {
    std::string first, second;
};

struct TokenLabels {
    std::string token;
    TextRange characters;           // its position in the text
    std::vector<LabelScore> labels; // best first
};

// The part of a text that answers a question.
struct Answer {
    std::string text;
    TextRange characters; // its position in the text
    double score = 0;     // how likely it is
};

struct AnswerOptions {
    size_t best = 1;          // how many answers to a question; there may be fewer
    size_t longest = 15;      // tokens of an answer
    bool may_be_none = false; // true: an empty answer is one, too, where the model finds that the text has none
    size_t batch = 32;        // how many parts of texts are processed together
    std::function<void(size_t done, size_t all)> progress{}; // after every batch
};

struct WordScore {
    std::string word; // the text of the token
    int32_t token = 0;
    double score = 0; // how likely it is
};

// A place of a text where a word is missing.
struct MaskedWord {
    TextRange characters;         // of the mask
    std::vector<WordScore> words; // best first
};

struct FillOptions {
    size_t best = 5;                                         // how many words for each mask
    size_t batch = 32;                                       // how many texts are processed together
    std::function<void(size_t done, size_t all)> progress{}; // after every batch
};

struct MatchOptions {
    std::string sentence = "This example is {}."; // what a label is put into, with {} in its place
    bool multi_label = false; // true: any number of labels may describe a text, each by itself; false: one does
    size_t batch = 32;        // how many pairs of a text and a label are processed together
    bool truncate = false;    // true: a text that is too long for the model is cut; false: it is an error
    std::function<void(size_t done, size_t all)> progress{}; // after every batch
};

// These functions accept any number of texts, and return one result per text, in the same order. They throw
// Error(usage) for a model with another kind of output or for a prompt that it does not have, and Error(input) for a
// text without tokens, or with too many.

// (N, C): a vector for each text; without texts, (0, C). TextReading::sparse: C is the size of the vocabulary.
[[nodiscard]] Tensor embed(Session &session, const std::vector<std::string> &texts, const ReadOptions &options = {});
// The same of texts that are token ids already, as token_ids() gives them: nothing is put before them. Throws
// Error(input) for an id that is none of the model's, too.
[[nodiscard]] Tensor embed_ids(Session &session, const std::vector<std::vector<int32_t>> &texts,
                               const ReadOptions &options = {});
// A part of a text that is no longer than a model takes.
struct TextWindow {
    size_t text = 0;          // its number
    std::vector<int32_t> ids; // for embed_ids()
    size_t tokens = 0;        // of the text itself, without special ones and the prompt
};
// Texts of any length in windows, one after the other. Each has the special tokens and the prompt of its text, and as
// many tokens of the text itself as there is room for; the last one has fewer. Throws as embed(), and Error(usage) for
// a prompt that does not count, as Instructor's.
[[nodiscard]] std::vector<TextWindow> windows_of(const Model &model, const std::vector<std::string> &texts,
                                                 const ReadOptions &options = {});
// (N, C): a vector for each text of those of its windows, (windows, C): their mean, weighted by their tokens (OpenAI
// Cookbook, "Embedding texts that are longer than the model's maximum context length"). Where all of them have length
// 1, it has length 1 again.
[[nodiscard]] Tensor mean_of_windows(const std::vector<TextWindow> &windows, const Tensor &vectors);
// (tokens, C) for each text, of a model that gives a vector for each token, such as ColBERT. ReadOptions::prompt says
// what the texts are: "query" or, by default, "document".
[[nodiscard]] std::vector<Tensor> embed_tokens(Session &session, const std::vector<std::string> &texts,
                                               const ReadOptions &options = {});
// Scores of all labels, best first.
[[nodiscard]] std::vector<std::vector<LabelScore>> classify(Session &session, const std::vector<std::string> &texts,
                                                            const ReadOptions &options = {});
// The same of two texts that are read together; a reranker has a single label, whose score says how well the document,
// the second text, answers the query. So does a model that gives vectors of tokens, whose label is "maxsim".
[[nodiscard]] std::vector<std::vector<LabelScore>> classify_pairs(Session &session, const std::vector<TextPair> &pairs,
                                                                  const ReadOptions &options = {});
// The same for each token of a text, without special ones.
[[nodiscard]] std::vector<std::vector<TokenLabels>>
label_tokens(Session &session, const std::vector<std::string> &texts, const ReadOptions &options = {});

// How likely each label describes a text, best first, of a model that was trained to say whether one sentence follows
// from another: it has a class whose name begins with "entail". The sentence of a label is what may follow. (Yin et
// al.: Benchmarking Zero-shot Text Classification, arXiv:1909.00161.)
[[nodiscard]] std::vector<std::vector<LabelScore>> match_texts(Session &session, const std::vector<std::string> &texts,
                                                               const std::vector<std::string> &labels,
                                                               const MatchOptions &options = {});
// The likeliest answers to each question, best first. `first` is the question, `second` the text; one that is too long
// is read in parts, which overlap.
[[nodiscard]] std::vector<std::vector<Answer>> answer(Session &session, const std::vector<TextPair> &pairs,
                                                      const AnswerOptions &options = {});

// The likeliest words for each mask of a text, such as "<mask>" or "[MASK]": TextReading::mask. Each is found as if the
// others stayed. Throws Error(input) for a text without one.
[[nodiscard]] std::vector<std::vector<MaskedWord>> fill_masks(Session &session, const std::vector<std::string> &texts,
                                                              const FillOptions &options = {});

// ---- Conversations ----

// Turns a conversation into the text that the model was trained to continue, with the model's own template. Pass it to
// Session::generate() with GenerateOptions::special_tokens false. `variables`: as ChatOptions has them. Throws
// Error(usage) for a model without a template, and the errors of ChatTemplate.
[[nodiscard]] std::string chat_prompt(const Model &model, const std::vector<ChatMessage> &messages,
                                      const std::map<std::string, std::string> &variables = {});

struct ShortenedChat {
    std::string prompt;
    size_t left_out = 0;      // messages
    std::vector<int32_t> ids; // the prompt's tokens
    // Its images, which the session knows as long as somebody has this, and the memory that they take there.
    std::shared_ptr<const void> images{};
    size_t image_bytes = 0;
};

// The same of a conversation that may have become too long: then the oldest turns are left out, as few as possible. A
// turn is a message of "user" and all up to the next one. What stands before the first turn stays, such as a message of
// "system", and so does the last turn, even if it is too long by itself. `longest`: tokens that the prompt and its
// answer may have together. `answer`: those of the answer, 0 if nobody has said; then a quarter is left to it, and
// never more than half.
[[nodiscard]] ShortenedChat shortened_chat_prompt(const Model &model, const std::vector<ChatMessage> &messages,
                                                  size_t longest, size_t answer,
                                                  const std::map<std::string, std::string> &variables = {});

// How the model's makers sample from it: temperature, top_k, top_p, min_p, top_h, typical_p, epsilon_cutoff, eta_cutoff
// and repetition_penalty, where its files say them; all else as GenerateOptions has it. Greedy for a model that says
// nothing. Throws Error(usage) for a model that does not generate text.
[[nodiscard]] GenerateOptions suggested_options(const Model &model);

// ---- How a model sees texts ----

struct RefusedText {
    size_t text = 0; // its index in the list
    std::string why; // an unknown token, or more tokens than the model supports
};

struct TextIds {
    std::vector<std::vector<int32_t>> ids; // of all texts, or of those before the refused one
    std::optional<RefusedText> refused;    // the first that the model cannot process
};

// The token ids of texts, with the model's default prompt before them. Of a model that reads texts, they are as
// `options` has them: cut, or with another prompt. Throws Error(input) if the model does not take text.
[[nodiscard]] TextIds tokenize(const Model &model, const std::vector<std::string> &texts,
                               const ReadOptions &options = {});

// The same of texts that Session::generate() takes, as it reads them. `special`: GenerateOptions::special_tokens.
// Throws Error(input) if the model does not generate text from text.
[[nodiscard]] TextIds prompt_ids(const Model &model, const std::vector<std::string> &texts, bool special = true);
// With all that the options say of them, such as GenerateOptions::choices. Throws Error(usage) for a choice that the
// model does not have.
[[nodiscard]] TextIds prompt_ids(const Model &model, const std::vector<std::string> &texts,
                                 const GenerateOptions &options);

[[nodiscard]] TextIds tokenize_pairs(const Model &model, const std::vector<TextPair> &pairs,
                                     const ReadOptions &options = {});

// The token ids of a text of any length, without a prompt. `special`: with the tokens that the model expects around a
// text. Of a model that takes audio, in the tokens that it writes. Throws Error(usage) for a model without tokens,
// Error(input) for a text that they cannot express.
[[nodiscard]] std::vector<int32_t> token_ids(const Model &model, const std::string &text, bool special = true);

// The text of token ids: of those that the model writes, such as Hypothesis::tokens, or reads if it writes none.
// `skip_special`: without special tokens. Throws Error(usage) for a model without tokens.
[[nodiscard]] std::string detokenize(const Model &model, std::span<const int32_t> ids, bool skip_special = true);

struct TokenText {
    std::string entry; // of the vocabulary: "##ing", "Ġworld"; empty for an id without a token
    std::string bytes; // that the token adds to a text behind others: "ing", " world"; not UTF-8 if half a character
};

// What each token is, by id: of those that token_ids() gives or, with `written`, of those that detokenize() takes,
// which are others where a model translates. Throws Error(usage) for a model without tokens.
[[nodiscard]] std::vector<TokenText> token_texts(const Model &model, bool written = false);

struct GraphRun {
    std::string graph;
    TensorMap inputs; // for Session::run()
};

// The graphs that the model runs for these texts, in order: the graph that reads them; or the encoder, if there is one,
// then the decoder. The decoder gets all tokens of the model's own output at once, which is generated first (greedily,
// at most 32 tokens). Every text is a row; empty sources are left out. Rows are padded to the longest one: sources with
// id 0, targets with the end token. Throws Error(usage) if the model does not take text or if no text is left,
// Error(input) if a text is refused.
[[nodiscard]] std::vector<GraphRun> graph_runs(Session &session, const std::vector<std::string> &texts);

} // namespace lamina
