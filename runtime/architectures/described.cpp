#include "architectures/described.hpp"

#include "architectures/rotary.hpp"
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

// Whether `name` stands in the text as a whole word.
bool mentions(std::string_view text, std::string_view name) {
    for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const size_t end = at + name.size();
        if ((at == 0 || !continues_name(text[at - 1])) && (end == text.size() || !continues_name(text[end])))
            return true;
    }
    return false;
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
    for (const JsonView setting : config.view().members())
        if (mentions(description.text, setting.key()) || ConfigKeys::is_harmless_anywhere(setting.key()))
            (void)config.find(setting.key());
    config.ignore({"auto_map"}); // the code that transformers runs for it

    ChatOptions variables;
    variables.variables = {{"config", config.view().written()}, {"weights", shapes_of(draft.weights)}};
    if (mentions(description.text, "rope")) variables.variables["rope"] = rope_of(draft).in_one_line();
    const std::string made = ChatTemplate::parse(description.text, file).render({}, variables);
    const JsonText json(made, file + ", as written for this model");
    const JsonView root = json.root();
    root.allow_keys({"graphs", "unused"});
    for (const JsonView graph : root.at("graphs").members()) draft.graph(std::string(graph.key())).replace(graph);
    if (root.has("unused"))
        for (const JsonView weight : root.at("unused").items()) draft.unused.emplace(weight.string());
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
