#include "reading/reading.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "model/place.hpp"
#include "reading/pair_texts.hpp"
#include "reading/token_vectors.hpp"

#include <algorithm>
#include <cmath>

namespace lamina::reading {
namespace {

// How many tokens of two texts are kept where `room` is left for both: the longer one is cut first (tokenizers,
// utils/truncation.rs, "longest_first").
std::pair<size_t, size_t> kept(size_t first, size_t second, size_t room) {
    if (first + second <= room) return {first, second};
    const size_t shorter = std::min(first, second);
    size_t less = shorter, more = std::max(shorter, room - std::min(shorter, room));
    if (shorter > room) more = shorter;
    if (less + more > room) less = room / 2, more = room - less;
    return first <= second ? std::pair(less, more) : std::pair(more, less);
}

// What is put before each text.
struct Prompt {
    std::string text = {};
    size_t uncounted = 0;                       // how many tokens at the start of a text do not count because of it
    const model::Reading::Role *role = nullptr; // of a model that has roles
};

// As sentence-transformers counts them (base/modules/transformer.py, _get_prompt_length): those of the prompt alone,
// without a special one that ends it.
size_t uncounted_tokens(const model::Reading &model, const std::string &prompt) {
    if (model.starts.empty() || prompt.empty()) return 0;
    const Encoding alone = model.tokenizer.encode(prompt);
    return alone.size() - (alone.size() != 0 && alone.special.back() ? 1 : 0);
}

// "query" or "document", which a text is unless somebody says otherwise; "": a document without a prompt.
Prompt prompt_of_role(const model::Reading &model, const std::optional<std::string> &name,
                      const std::optional<std::string> &text) {
    const auto role = model.roles.find(name && !name->empty() ? *name : model.default_prompt);
    if (role == model.roles.end())
        throw Error(ErrorCode::usage, "prompt: expected query or document, found " + in_quotes(*name));
    if (name && name->empty()) return {"", 0, &role->second};
    return {text.value_or(role->second.prompt), 0, &role->second};
}

Prompt prompt_of(const model::Reading &model, const std::optional<std::string> &wanted,
                 const std::optional<std::string> &text = std::nullopt) {
    if (wanted && text)
        throw Error(ErrorCode::usage, "prompt: expected the name of a prompt, or its text; found both, " +
                                          in_quotes(*wanted) + " and " + in_quotes(*text));
    const std::string name = text ? *text : wanted.value_or(model.default_prompt);
    if (!model.roles.empty()) return prompt_of_role(model, wanted, text);
    if (name.empty()) return {};
    if (model.pair && model.pair->prompted.empty())
        throw Error(ErrorCode::usage, "prompt: expected none, because this model's template has no place for it");
    if (text) return {*text, uncounted_tokens(model, *text)};
    if (const auto found = model.prompts.find(name); found != model.prompts.end())
        return {found->second, uncounted_tokens(model, found->second)};
    throw Error(ErrorCode::usage, "prompt: the model has none that is called " + in_quotes(name) +
                                      instead_of(name, names_of(model.prompts)));
}

// The ids of a query and of a document, which are read one by one: all that is asked of both at once.
Encoding encode_roles(const model::Reading &model, const std::string &query, const std::string &document,
                      bool shorten) {
    const auto encoded = [&](const std::string &name, const std::string &text) {
        const model::Reading::Role &role = model.roles.at(name);
        try {
            return encode_as(model, role, role.prompt + text, shorten);
        } catch (const Error &e) {
            throw Error(e.code(), "the " + name + ": " + e.what());
        }
    };
    Encoding out = encoded("query", query);
    const Encoding second = encoded("document", document);
    out.ids.insert(out.ids.end(), second.ids.begin(), second.ids.end());
    return out;
}

// The most tokens of what is encoded; each role has its own.
int64_t longest_of(const model::Reading &model) { return model.roles.empty() ? model.longest : INT64_MAX; }

Encoding encode(const model::Reading &model, const Text &text, const Prompt &prompt, bool shorten) {
    constexpr EncodeOptions bare{.add_special_tokens = false};
    if (prompt.role != nullptr && !text.second)
        return encode_as(model, *prompt.role, prompt.text + text.first, shorten);
    if (prompt.role != nullptr) return encode_roles(model, text.first, *text.second, shorten);
    if (model.pair && text.second) return encode_pair(model, text.first, *text.second, prompt.text, shorten);
    const auto longest = static_cast<size_t>(model.longest);
    const std::string first = prompt.text + text.first;
    Encoding out = text.second ? model.tokenizer.encode(first, *text.second) : model.tokenizer.encode(first);
    if (shorten && out.size() > longest) truncate(out, longest, model.tokenizer.encode(first, bare).size(), model.cut);
    return out;
}

std::vector<Encoding> encode(const model::Reading &model, const std::vector<Text> &texts, const Prompt &prompt,
                             bool shorten) {
    return encode_each(texts.size(), longest_of(model), prompt.uncounted,
                       [&](size_t i) { return encode(model, texts[i], prompt, shorten); });
}

Encoding encoding_of(const Tokenizer &tokenizer, const std::vector<int32_t> &ids) {
    Encoding out;
    for (const int32_t id : ids) {
        if (id < 0 || static_cast<size_t>(id) >= tokenizer.size())
            throw Error(ErrorCode::input, "token " + std::to_string(out.size() + 1) + ": expected an id from 0 to " +
                                              std::to_string(tokenizer.size() - 1) + ", found " + std::to_string(id));
        out.ids.push_back(id);
        out.tokens.emplace_back();
        out.offsets.emplace_back();
        out.types.push_back(0);
        out.special.push_back(tokenizer.is_special(id));
        out.words.push_back(-1);
    }
    return out;
}

// How many tokens of a text are those of its beginning alone: the last one may be a part of a token of the text.
size_t common_tokens(const Encoding &beginning, const Encoding &text) {
    size_t out = 0;
    for (size_t i = 0; i < text.size() && out < beginning.size(); ++i) {
        if (text.special[i] && text.ids[i] != beginning.ids[out]) continue; // around the text
        if (text.ids[i] != beginning.ids[out]) break;
        ++out;
    }
    return out;
}

} // namespace

const model::Reading &reading_of(const model::Model &model) {
    if (!model.reading)
        throw Error(ErrorCode::usage, model.folder.string() + " does not turn texts into vectors or classes: it " +
                                          model::what_it_does(model));
    return *model.reading;
}

void truncate(Encoding &encoding, size_t longest, size_t first, model::Reading::Side side) {
    const auto own = static_cast<size_t>(std::ranges::count(encoding.special, false));
    const size_t special = encoding.size() - own;
    if (encoding.size() <= longest || special > longest) return;
    const auto [of_first, of_second] = kept(first, own - first, longest - special);
    const bool left = side == model::Reading::Side::left;
    const auto stays = [left](size_t token, size_t of, size_t kept) {
        return left ? token + kept >= of : token < kept;
    };
    encoding = without(encoding, [&, of_first = of_first, of_second = of_second](size_t token) {
        return token < first ? stays(token, first, of_first) : stays(token - first, own - first, of_second);
    });
}

std::string why_not(const Encoding &encoding, size_t longest, size_t uncounted) {
    if (encoding.size() == 0) return "no tokens; expected a text that is not empty";
    if (encoding.size() <= longest && encoding.size() <= uncounted)
        return "no tokens besides those of the prompt, which do not count for this model; expected a longer text, or "
               "no prompt";
    if (encoding.size() <= longest) return "";
    return std::to_string(encoding.size()) + " tokens; expected at most " + std::to_string(longest) +
           ", as many as the model was trained with: shorten the text, or have it cut (--truncate)";
}

std::vector<Encoding> encode_each(size_t count, int64_t longest, size_t uncounted,
                                  const std::function<Encoding(size_t text)> &encoded) {
    std::vector<Encoding> out;
    for (size_t i = 0; i < count; ++i) {
        const auto refuse = [&](const std::string &why) {
            throw Error(ErrorCode::input, "text " + std::to_string(i + 1) + ": " + why);
        };
        try {
            out.push_back(encoded(i));
        } catch (const Error &e) { // it is not UTF-8, or has other ids
            refuse(e.what());
        }
        const std::string why = why_not(out.back(), static_cast<size_t>(longest), uncounted);
        if (!why.empty()) refuse(why);
    }
    return out;
}

Encoding without(const Encoding &encoding, const std::function<bool(size_t own)> &keep) {
    size_t own = 0;
    return only(encoding, [&](size_t token) { return encoding.special[token] || keep(own++); });
}

size_t question_tokens(const Encoding &both, const Encoding &question, const Encoding &text) {
    std::vector<std::pair<int32_t, int32_t>> own, wanted; // ids, and the words that they are of
    for (size_t i = 0; i < both.size(); ++i)
        if (!both.special[i]) own.emplace_back(both.ids[i], both.words[i]);
    for (const Encoding *each : {&question, &text})
        for (size_t i = 0; i < each->size(); ++i) wanted.emplace_back(each->ids[i], each->words[i]);
    if (own != wanted)
        throw Error(ErrorCode::input, "the tokenizer does not put a question before its text, each of them once; such "
                                      "tokenizers are not supported for answers");
    return question.size();
}

Encoding only(const Encoding &encoding, const std::function<bool(size_t token)> &keep) {
    Encoding out;
    for (size_t i = 0; i < encoding.size(); ++i) {
        if (!keep(i)) continue;
        out.ids.push_back(encoding.ids[i]);
        out.tokens.push_back(encoding.tokens[i]);
        out.offsets.push_back(encoding.offsets[i]);
        out.types.push_back(encoding.types[i]);
        out.special.push_back(encoding.special[i]);
        out.words.push_back(encoding.words[i]);
    }
    return out;
}

Encoding slice(const Encoding &encoding, size_t begin, size_t end) {
    const auto of = [&](const auto &list) {
        const auto at = [&](size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
        return std::decay_t<decltype(list)>(at(begin), at(end));
    };
    return {of(encoding.ids),   of(encoding.tokens),  of(encoding.offsets),
            of(encoding.types), of(encoding.special), of(encoding.words)};
}

std::vector<Text> single(const std::vector<std::string> &texts) {
    std::vector<Text> out;
    for (const std::string &text : texts) out.push_back({text, std::nullopt});
    return out;
}

std::vector<Found> read(detail::SessionState &session, const std::vector<Text> &texts, const ReadOptions &options) {
    const model::Reading &model = reading_of(*session.model);
    if (model.pair && std::ranges::any_of(texts, [](const Text &text) { return !text.second; }))
        throw Error(ErrorCode::usage, session.model->folder.string() +
                                          " scores how a document answers a query: expected pairs of texts (--pairs)");
    const Prompt prompt = prompt_of(model, options.prompt, options.prompt_text);
    return run(session, model, encode(model, texts, prompt, options.truncate),
               {.most = options.batch, .uncounted = prompt.uncounted, .progress = options.progress});
}

std::vector<Found> read_ids(detail::SessionState &session, const std::vector<std::vector<int32_t>> &texts,
                            const ReadOptions &options) {
    const model::Reading &model = reading_of(*session.model);
    const auto longest = static_cast<size_t>(model.longest);
    auto encodings = encode_each(texts.size(), model.longest, 0, [&](size_t i) {
        Encoding out = encoding_of(model.tokenizer, texts[i]);
        if (options.truncate)
            truncate(out, longest, static_cast<size_t>(std::ranges::count(out.special, false)), model.cut);
        return out;
    });
    return run(session, model, std::move(encodings), {.most = options.batch, .progress = options.progress});
}

WholeTexts read_whole(const model::Model &model, const std::vector<std::string> &texts, const ReadOptions &options) {
    const model::Reading &reading = reading_of(model);
    const Prompt prompt = prompt_of(reading, options.prompt, options.prompt_text);
    if (prompt.uncounted != 0)
        throw Error(ErrorCode::usage, "this model does not count the tokens of its prompts, so with a prompt its texts "
                                      "cannot be read in windows");
    WholeTexts out;
    const Encoding alone = reading.tokenizer.encode(prompt.text, {.add_special_tokens = false});
    for (size_t i = 0; i < texts.size(); ++i) {
        std::string why;
        try {
            out.encodings.push_back(reading.tokenizer.encode(prompt.text + texts[i]));
            out.prompts.push_back(common_tokens(alone, out.encodings.back()));
            why = why_not(out.encodings.back(), SIZE_MAX, 0);
        } catch (const Error &e) { // it is not UTF-8
            why = e.what();
        }
        if (!why.empty()) throw Error(ErrorCode::input, "text " + std::to_string(i + 1) + ": " + why);
    }
    return out;
}

TextIds tokenize(const model::Model &model, const std::vector<Text> &texts, const ReadOptions &options) {
    const model::Reading &reading = reading_of(model);
    const Prompt prompt = prompt_of(reading, options.prompt, options.prompt_text);
    TextIds out;
    for (const Text &text : texts) {
        Encoding encoding;
        std::string why;
        try {
            encoding = encode(reading, text, prompt, options.truncate);
            why = why_not(encoding, static_cast<size_t>(longest_of(reading)), prompt.uncounted);
        } catch (const Error &e) { // it is not UTF-8
            why = e.what();
        }
        if (!why.empty()) {
            out.refused = RefusedText{out.ids.size(), std::move(why)};
            break;
        }
        out.ids.push_back(std::move(encoding.ids));
    }
    return out;
}

GraphRun inputs_of_texts(const model::Model &model, const std::vector<std::string> &texts) {
    const model::Reading &reading = reading_of(model);
    const Prompt prompt = prompt_of(reading, std::nullopt);
    const std::vector<Encoding> encodings = encode(reading, single(texts), prompt, false);
    std::vector<const Encoding *> rows;
    size_t longest = 1;
    for (const Encoding &each : encodings) longest = std::max(longest, each.size()), rows.push_back(&each);
    const int64_t length = reading.fill ? reading.fill->length : static_cast<int64_t>(longest);
    return {reading.graph, inputs_of(reading, rows, static_cast<int64_t>(rows.size()), length, prompt.uncounted)};
}

std::vector<std::string> sentences_of(const std::vector<std::string> &labels, const std::string &sentence) {
    std::vector<std::string> out(labels.size(), sentence);
    const size_t at = sentence.find("{}");
    if (at == std::string::npos)
        throw Error(ErrorCode::usage, "sentence: expected {} where a label belongs, found '" + sentence + "'");
    for (size_t i = 0; i < out.size(); ++i) out[i].replace(at, 2, labels[i]);
    return out;
}

std::vector<LabelScore> labels_of(const std::vector<std::string> &labels, model::Scores kind,
                                  std::span<const float> row) {
    using model::Scores;
    // One class is not likelier than others: it applies or not.
    const Scores scores = kind == Scores::softmax && row.size() == 1 ? Scores::sigmoid : kind;
    const double most = row.empty() ? 0 : *std::ranges::max_element(row);
    double sum = 0;
    for (const float value : row) sum += std::exp(value - most);
    std::vector<LabelScore> out;
    for (size_t i = 0; i < row.size(); ++i) {
        double score = row[i];
        if (scores == Scores::softmax) score = std::exp(row[i] - most) / sum;
        if (scores == Scores::sigmoid) score = 1 / (1 + std::exp(-score));
        out.push_back({i < labels.size() ? labels[i] : "LABEL_" + std::to_string(i), score});
    }
    std::ranges::stable_sort(out, std::ranges::greater{}, &LabelScore::score);
    return out;
}

} // namespace lamina::reading
