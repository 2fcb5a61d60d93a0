#include "architectures/described.hpp"

#include "architectures/generation_settings.hpp"
#include "architectures/rotary.hpp"
#include "architectures/weight_parts.hpp"
#include "base/utf8.hpp"

#include <lamina/chat_template.hpp>

#include <algorithm>
#include <cctype>

namespace lamina::architectures {
namespace {

constexpr std::string_view ending = ".model.json.jinja";

// A name that may be that of a file.
bool is_plain(std::string_view name) {
    return !name.empty() && name.size() <= 100 &&
           std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether `name` stands in the text as a whole word, behind `before`.
bool mentions(std::string_view text, std::string_view name, std::string_view before = "") {
    for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const size_t end = at + name.size();
        const bool begins = at == 0 || !continues_name(text[at - 1]),
                   ends = end == text.size() || !continues_name(text[end]);
        if (begins && ends && text.substr(0, at).ends_with(before)) return true;
    }
    return false;
}

std::string comments_of(std::string_view text) {
    std::string out;
    for (size_t at = text.find("{#"); at != std::string_view::npos; at = text.find("{#", at)) {
        const size_t end = std::min(text.find("#}", at), text.size());
        out.append(text.substr(at, end - at)).append(" ");
        at = end;
    }
    return out;
}

// Whether the template reads a setting, or says in a comment that it need not.
bool names_setting(std::string_view text, const std::string &comments, std::string_view key) {
    for (const std::string_view before : {"config.", "config['", "config[\"", "config.get('", "config.get(\""})
        if (mentions(text, key, before)) return true;
    return mentions(comments, key);
}

// {"NAME": {"of": WEIGHT, "transposed": true, "rows": [2, 48]}}: weights that are parts of others.
void add_parts(Draft &draft, JsonView parts) {
    for (const JsonView part : parts.members()) {
        part.allow_keys({"of", "rows", "transposed"});
        const std::string of(part.at("of").string());
        const auto found = draft.weights.entries().find(of);
        if (found == draft.weights.entries().end()) part.at("of").fail("the file has no such weight");
        model::Weight weight = found->second;
        if (part.has("transposed") && part.at("transposed").boolean()) {
            if (weight.type.shape.size() != 2) part.at("of").fail("expected a matrix, which can be transposed");
            weight = transposed_columns(weight, 0, 1);
        }
        if (part.has("rows")) {
            const JsonView rows = part.at("rows");
            const int64_t all = weight.type.shape.empty() ? 0 : weight.type.shape.front(),
                          first = rows.at(size_t{0}).integer(0, all), end = rows.at(1).integer(first + 1, all);
            weight = weight.rows(first, end);
        }
        draft.weights.add(std::string(part.key()), weight);
        draft.unused.insert(of);
    }
}

// What sentence-transformers makes of the hidden states of texts.
void add_sentences(Draft &draft, GraphWriter &graph) {
    const GraphWriter::Tensor hidden = graph.output_named("hidden");
    if (hidden.empty() || !graph.takes("lengths"))
        draft.config.fail("model_type", "modules.json makes vectors of hidden states: expected a graph 'encode' with "
                                        "the output 'hidden' and the input 'lengths'");
    if (draft.sentences->of_words())
        draft.config.fail("model_type", "modules.json makes vectors of scores of words, which is not supported for a "
                                        "described type");
    graph.set_channels(hidden, draft.config.positive("hidden_size"));
    graph.output("embedding", draft.sentences->layers(graph, draft.weights, hidden, "lengths"));
}

// {"model.norm.weight": [576]}
std::string shapes_of(const model::Weights &weights) {
    Json out = Json::object();
    for (const auto &[name, weight] : weights.entries()) out[name] = Json(weight.type.shape);
    return out.in_one_line();
}

// What a layer `rotary` of this model needs. The frequencies are a weight, which the draft gets.
Json rope_of(Draft &draft) {
    const char *name = "rope.frequencies";
    const Config &config = draft.config;
    const bool says_depth = config.has("head_dim");
    const int64_t depth = says_depth ? config.positive("head_dim")
                                     : config.positive("hidden_size") / config.positive("num_attention_heads");
    const Rotary found = rotary(draft, depth);
    draft.weights.add(
        name, model::Weight::of(Tensor::of({static_cast<int64_t>(found.frequencies.size())}, found.frequencies)));
    return {{"frequencies", name},
            {"magnitude", found.magnitude},
            {"score_factor", found.score_factor},
            {"max_len", found.positions == 0 ? int64_t{1} << 31 : found.positions}};
}

void build(Draft &draft) {
    const Description &description = *draft.description;
    const std::string file = description.file.string();
    const Config &config = draft.config;
    const std::string comments = comments_of(description.text);
    for (const JsonView setting : config.view().members())
        if (names_setting(description.text, comments, setting.key()) || ConfigKeys::is_harmless_anywhere(setting.key()))
            (void)config.find(setting.key());
    config.ignore({"auto_map"}); // the code that transformers runs for it

    ChatOptions variables;
    variables.variables = {{"config", config.view().written()}, {"weights", shapes_of(draft.weights)}};
    if (mentions(description.text, "rope")) variables.variables["rope"] = rope_of(draft).in_one_line();
    const std::string made = ChatTemplate::parse(description.text, file).render({}, variables);
    const JsonText json(made, file + ", as written for this model");
    const JsonView root = json.root();
    root.allow_keys({"graphs", "longest", "unused", "weights"});
    if (root.has("weights")) add_parts(draft, root.at("weights"));
    root.at("graphs").allow_keys({"decode", "encode"});
    for (const JsonView graph : root.at("graphs").members()) draft.graph(std::string(graph.key())).replace(graph);
    if (draft.sentences) add_sentences(draft, draft.graph("encode"));
    if (root.has("longest") && draft.texts)
        draft.texts->context = std::min(draft.texts->context, root.at("longest").integer(1, INT32_MAX));
    if (root.has("unused"))
        for (const JsonView weight : root.at("unused").items()) draft.unused.emplace(weight.string());
    for (const std::string_view key : generation_keys()) config.ignore({key.data()});
    try {
        config.finish();
    } catch (const Error &e) {
        throw Error(e.code(), std::string(e.what()) + ": name it in " + file + ", in a comment if it changes nothing");
    }
    draft.spare.clear(); // whoever describes a model says which weights it may have
}

} // namespace

std::optional<Description> description_of(const std::string &model_type,
                                          const std::vector<std::filesystem::path> &folders) {
    if (!is_plain(model_type)) return std::nullopt;
    for (const std::filesystem::path &folder : folders)
        if (const std::filesystem::path file = folder / (model_type + std::string(ending)); has_file(file))
            return Description{file, text_of(file)};
    return std::nullopt;
}

const Architecture &described() {
    static constexpr Architecture out{.model_type = "", .build = build};
    return out;
}

} // namespace lamina::architectures
