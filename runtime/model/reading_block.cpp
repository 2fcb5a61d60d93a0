#include "model/reading_block.hpp"

#include "base/joined.hpp"
#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "model/graph_names.hpp"
#include "model/tokenizer_reader.hpp"
#include "tokenizer/parts.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lamina::model {
namespace {

using Gives = Reading::Gives;

constexpr std::array<ReadingKind, 6> kinds{{
    {Gives::embedding, "embedding", "(B, C)", false},
    {Gives::classes, "classes", "(B, L)", false},
    {Gives::token_classes, "token_classes", "(B, T, L)", true},
    {Gives::answers, "answers", "(B, T, 2)", true},
    {Gives::words, "words", "(B, T, V)", true},
    {Gives::token_vectors, "token_vectors", "(B, T, C)", true},
}};

std::string all_keys() {
    std::vector<std::string> keys;
    for (const ReadingKind &kind : kinds) keys.emplace_back(kind.key);
    return joined(keys);
}

// The key that says what the model gives, and by which output.
void read_output(JsonView value, const Graph &graph, Reading &out) {
    for (const ReadingKind &kind : kinds) {
        if (!value.has(kind.key)) continue;
        if (!out.output.empty()) value.at(kind.key).fail("a model gives only one of " + all_keys());
        out.gives = kind.gives;
        out.output = output_at(value.at(kind.key), graph);
    }
    if (out.output.empty()) value.fail("expected one of the keys " + all_keys());
}

Reading::Side side_at(JsonView value) {
    if (value.string() == "left") return Reading::Side::left;
    if (value.string() == "right") return Reading::Side::right;
    value.fail("expected left or right, found " + in_quotes(value.string()));
}

// The token that stands for a missing word.
void read_mask(JsonView value, Reading &out) {
    if (out.gives != Gives::words) {
        if (value.has("mask")) value.at("mask").fail("only a model that gives words has a mask");
        return;
    }
    const JsonView mask = value.at("mask");
    out.mask = mask.string();
    const std::optional<int32_t> id = out.tokenizer.id(out.mask);
    if (!id) mask.fail("the tokenizer has no token " + in_quotes(out.mask));
    out.mask_id = *id;
}

// The same tokenizer for texts that are converted to lower case first.
Tokenizer lowercased(const Tokenizer &as_written) {
    Tokenizer::Parts parts = as_written.parts();
    parts.normalizer =
        tokenizer::sequence(std::vector<tokenizer::Normalizer>{tokenizer::lowercase(), parts.normalizer});
    return Tokenizer(std::make_shared<const Tokenizer::Parts>(std::move(parts)));
}

// The same tokenizer, whose tokens are all of type 0.
Tokenizer of_one_type(const Tokenizer &tokenizer) {
    Tokenizer::Parts parts = tokenizer.parts();
    const auto without_types = [](std::vector<Encoding> &texts, bool) {
        for (Encoding &text : texts) std::ranges::fill(text.types, 0);
    };
    parts.post_processor =
        tokenizer::sequence(std::vector<tokenizer::PostProcessor>{std::move(parts.post_processor), without_types});
    return Tokenizer(std::make_shared<const Tokenizer::Parts>(std::move(parts)));
}

Reading::Fill fill_at(JsonView value, const Tokenizer &tokenizer) {
    value.allow_keys({"length", "id", "counted"});
    Reading::Fill out;
    constexpr int64_t most = 65536; // so that a bad file cannot exhaust memory
    out.length = value.at("length").integer(1, most);
    out.id = static_cast<int32_t>(value.at("id").integer(0, static_cast<int64_t>(tokenizer.size()) - 1));
    if (value.has("counted")) out.counted = value.at("counted").boolean();
    return out;
}

int32_t token_at(JsonView value, const Tokenizer &tokenizer) {
    return static_cast<int32_t>(value.integer(0, static_cast<int64_t>(tokenizer.size()) - 1));
}

Reading::Role role_at(JsonView value, const Reading &model) {
    value.allow_keys({"prompt", "mark", "longest", "fill", "left_out"});
    Reading::Role out{.longest = model.longest};
    if (value.has("prompt")) out.prompt = value.at("prompt").string();
    if (value.has("mark")) out.mark = token_at(value.at("mark"), model.tokenizer);
    if (value.has("longest")) out.longest = std::min(out.longest, value.at("longest").integer(1, INT32_MAX));
    if (value.has("fill")) {
        out.fill = fill_at(value.at("fill"), model.tokenizer);
        if (out.fill->length > out.longest)
            value.at("fill").at("length").fail("expected at most " + std::to_string(out.longest) +
                                               ", the longest text that the model takes");
    }
    if (value.has("left_out"))
        for (const JsonView token : value.at("left_out").items())
            out.left_out.push_back(token_at(token, model.tokenizer));
    return out;
}

void read_roles(JsonView value, Reading &out) {
    constexpr std::array<const char *, 2> names{"query", "document"};
    if (out.gives != Gives::token_vectors) {
        for (const char *key : {names[0], names[1], "mean_score"})
            if (value.has(key)) value.at(key).fail("only a model that gives vectors of tokens has this");
        return;
    }
    for (const char *name : names) out.roles[name] = role_at(value.at(name), out);
    out.default_prompt = names[1];
    if (value.has("mean_score")) out.mean_score = value.at("mean_score").boolean();
}

std::vector<PairPart> pair_parts_at(JsonView value) {
    using enum PairPart::Of;
    constexpr std::array<std::pair<const char *, PairPart::Of>, 3> names{
        {{"prompt", prompt_text}, {"first", first_text}, {"second", second_text}}};
    std::vector<PairPart> out;
    for (const JsonView part : value.items()) {
        if (part.is_string()) {
            out.push_back({own_text, std::string(part.string())});
            continue;
        }
        part.allow_keys({"of"});
        const std::string_view name = part.at("of").string();
        const auto found =
            std::ranges::find(names, name, [](const auto &each) { return std::string_view(each.first); });
        if (found == names.end()) part.at("of").fail("expected first, prompt or second, found " + in_quotes(name));
        out.push_back({found->second});
    }
    for (const PairPart::Of of : {first_text, second_text})
        if (std::ranges::find(out, of, &PairPart::of) == out.end())
            value.fail("expected a place for each text: {\"of\": \"first\"} and {\"of\": \"second\"}");
    return out;
}

void read_pair(JsonView value, Reading &out) {
    if (!value.has("pair")) return;
    const JsonView pair = value.at("pair");
    if (out.gives != Gives::classes) pair.fail("only a model that gives classes of texts reads pairs like this");
    pair.allow_keys({"plain", "prompted"});
    out.pair = Reading::Pair{.plain = pair_parts_at(pair.at("plain"))};
    if (pair.has("prompted")) out.pair->prompted = pair_parts_at(pair.at("prompted"));
}

void read_prompts(JsonView value, Reading &out) {
    if (value.has("prompts")) {
        if (out.gives != Gives::embedding && out.gives != Gives::classes)
            value.at("prompts").fail("only a model that gives an embedding or classes of texts has prompts");
        for (const JsonView prompt : value.at("prompts").members()) out.prompts.emplace(prompt.key(), prompt.string());
    }
    if (!value.has("default_prompt")) return;
    const JsonView name = value.at("default_prompt");
    out.default_prompt = name.string();
    if (!out.prompts.contains(out.default_prompt))
        name.fail("no prompt " + in_quotes(out.default_prompt) + instead_of(name.string(), names_of(out.prompts)));
    if (out.pair && out.pair->prompted.empty()) name.fail("has no place in a \"pair\" without \"prompted\"");
}

} // namespace

const ReadingKind &kind_of(Gives gives) { return *std::ranges::find(kinds, gives, &ReadingKind::gives); }

Scores scores_at(JsonView value) {
    constexpr std::array<std::pair<const char *, Scores>, 3> names{
        {{"softmax", Scores::softmax}, {"sigmoid", Scores::sigmoid}, {"values", Scores::values}}};
    for (const auto &[name, scores] : names)
        if (value.string() == name) return scores;
    value.fail("expected softmax, sigmoid or values, found " + in_quotes(value.string()) +
               instead_of(value.string(), {"softmax", "sigmoid", "values"}));
}

Reading read_reading(JsonView value, const Model &model, const TextFiles &files,
                     const std::vector<std::string> &beside) {
    value.allow_keys({"graph",     "ids",       "lengths",       "token_types",    "starts",
                      "embedding", "classes",   "token_classes", "answers",        "words",
                      "mask",      "labels",    "scores",        "longest",        "truncation_side",
                      "tokenizer", "lowercase", "prompts",       "default_prompt", "padding",
                      "fill",      "one_type",  "clean_up",      "sparse",         "pair",
                      "query",     "document",  "mean_score",    "token_vectors"});
    const Graph &graph = graph_at(value.at("graph"), model);
    const std::string file = file_at(value.at("tokenizer"));
    Reading out{.graph = graph.name, .file = file, .tokenizer = cleaning_up(files.tokenizer(file), value)};
    out.ids = input_at(value.at("ids"), graph, DType::i32, 2, "B T");
    out.lengths = input_at(value.at("lengths"), graph, DType::i32, 1, "B");
    std::vector<std::string> set = beside;
    set.insert(set.end(), {out.ids, out.lengths});
    if (value.has("token_types")) {
        out.token_types = input_at(value.at("token_types"), graph, DType::i32, 2, "B T");
        set.push_back(out.token_types);
    }
    if (value.has("starts")) {
        out.starts = input_at(value.at("starts"), graph, DType::i32, 1, "B");
        set.push_back(out.starts);
    }
    check_all_set(value, graph, set);
    read_output(value, graph, out);
    read_mask(value, out);
    if (value.has("sparse")) out.sparse = value.at("sparse").boolean();
    if (out.sparse && out.gives != Gives::embedding) value.at("sparse").fail("only an embedding is sparse");
    if (value.has("labels"))
        for (const JsonView label : value.at("labels").items()) out.labels.emplace_back(label.string());
    if (value.has("scores")) out.scores = scores_at(value.at("scores"));
    read_pair(value, out);
    read_prompts(value, out);
    if (value.has("lowercase") && value.at("lowercase").boolean()) out.tokenizer = lowercased(out.tokenizer);
    if (value.has("one_type") && value.at("one_type").boolean()) out.tokenizer = of_one_type(out.tokenizer);
    if (value.has("padding")) out.padding = static_cast<int32_t>(value.at("padding").integer(0, INT32_MAX));
    if (value.has("longest")) out.longest = value.at("longest").integer(1, INT32_MAX);
    if (value.has("fill")) {
        out.fill = fill_at(value.at("fill"), out.tokenizer);
        out.longest = std::min(out.longest, out.fill->length);
    }
    if (value.has("truncation_side")) out.cut = side_at(value.at("truncation_side"));
    read_roles(value, out);
    return out;
}

} // namespace lamina::model
