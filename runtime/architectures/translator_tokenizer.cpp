#include "architectures/translator_tokenizer.hpp"

#include "base/file.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t largest_file = 512u << 20; // bytes; that of NLLB has 2^24

// As transformers 5 has them (tokenization_nllb.py, _mbart.py, _mbart50.py).
struct Translator {
    std::string_view name, usual_language;
    bool begins; // a text begins with its language, rather than to end with it
};
constexpr std::array<Translator, 3> translator_classes{
    {{"NllbTokenizer", "eng_Latn", true}, {"MBartTokenizer", "en_XX", false}, {"MBart50Tokenizer", "en_XX", true}}};

const Translator *translator_of(const TokenizerSettings &options, const std::string &model_type) {
    const std::string &named = options.class_name();
    const std::string_view name = named.empty() && model_type == "mbart" ? "MBartTokenizer" : std::string_view(named);
    const auto found = std::ranges::find(translator_classes, name, &Translator::name);
    return found == translator_classes.end() ? nullptr : &*found;
}

// Of a token that tokenizer.json adds to its vocabulary.
std::optional<int64_t> added_id(JsonView file, const std::string &token) {
    if (!file.has("added_tokens")) return std::nullopt;
    for (const JsonView each : file.at("added_tokens").items())
        if (each.at("content").string() == token) return each.at("id").integer(0, INT32_MAX - 1);
    return std::nullopt;
}

} // namespace

std::optional<std::string> translator_tokenizer(const fs::path &folder, const TokenizerSettings &options,
                                                const std::string &model_type) {
    const Translator *translator = translator_of(options, model_type);
    if (translator == nullptr) return std::nullopt;
    const fs::path path = folder / "tokenizer.json";
    const std::vector<std::byte> bytes = read_file(path, largest_file, FileReader::Kind::ordinary);
    const JsonText document({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, path.string());
    const JsonView file = document.root();
    const std::string written = options->text("src_lang", ""),
                      language = written.empty() ? std::string(translator->usual_language) : written,
                      named = named_token(folder, "eos_token"), end = named.empty() ? "</s>" : named;
    const std::optional<int64_t> language_id = added_id(file, language), end_id = added_id(file, end);
    if (!language_id && !written.empty())
        options->fail("src_lang",
                      "expected a language among the \"added_tokens\" of tokenizer.json, found " + in_quotes(language));
    if (!language_id || !end_id) return std::nullopt;
    const bool begins = translator->begins && !options->flag("legacy_behaviour", false);
    const auto around = [&](const Json &texts) {
        Json out = Json::array();
        if (begins) out.push_back(special_token(language, 0));
        for (const Json &text : *texts.items()) out.push_back(text);
        out.push_back(special_token(end, 0));
        if (!begins) out.push_back(special_token(language, 0));
        return out;
    };
    Json ids = Json::object();
    for (const auto &[token, id] : {std::pair{language, *language_id}, {end, *end_id}})
        ids[token] = Json{{"id", token}, {"ids", Json::array({id})}, {"tokens", Json::array({token})}};
    const Json processor{{"type", "TemplateProcessing"},
                         {"single", around(Json::array({sequence("A", 0)}))},
                         {"pair", around(Json::array({sequence("A", 0), sequence("B", 0)}))},
                         {"special_tokens", ids}};
    std::string out = "{\"post_processor\":" + processor.in_one_line();
    for (const JsonView part : file.members())
        if (part.key() != "post_processor") out += "," + json_string(part.key()) + ":" + part.written();
    return out + "}";
}

} // namespace lamina::architectures
