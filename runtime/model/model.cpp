#include "model/model.hpp"

#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "base/utf8.hpp"
#include "model/generation_reader.hpp"
#include "model/gguf.hpp"
#include "model/gguf_tokenizer.hpp"
#include "model/graph_reader.hpp"
#include "model/images_block.hpp"
#include "model/pages_block.hpp"
#include "model/reading_block.hpp"
#include "model/safetensors.hpp"
#include "model/speech_block.hpp"

#include <functional>
#include <span>

namespace lamina::model {
namespace {

namespace fs = std::filesystem;

constexpr const char *format = "lamina/1";
constexpr uint64_t largest_json = 64u << 20;

// Also true for a path that cannot be opened, because opening it gives a better error.
bool exists_under_that_name(const fs::path &file) {
    std::error_code error;
    return fs::symlink_status(file, error).type() != fs::file_type::not_found;
}

Weights open_weights(const fs::path &file) {
    return exists_under_that_name(file) ? open_safetensors(file).weights : Weights();
}

// tokenizer.json or a SentencePiece model; or tokenizer.gguf, the metadata of a GGUF file.
Tokenizer tokenizer_in(const Gguf &gguf, const fs::path &file) {
    if (auto tokenizer = tokenizer_of(gguf.metadata)) return *tokenizer;
    throw Error(ErrorCode::input, file.string() + ": there is no tokenizer in it");
}

Tokenizer open_tokenizer(const fs::path &file) {
    return file.extension() == ".gguf" ? tokenizer_in(open_gguf(file), file) : Tokenizer::load(file);
}

Tokenizer parse_tokenizer(const std::string &text, const fs::path &file) {
    if (file.extension() != ".gguf") return Tokenizer::parse(text, file.string());
    return tokenizer_in(parse_gguf(std::as_bytes(std::span(text)), nullptr, file), file);
}

std::string read_text_file(const fs::path &file) {
    constexpr uint64_t largest = 512u << 20; // bytes
    const std::vector<std::byte> bytes = read_file(file, largest, FileReader::Kind::ordinary);
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

void check_format(JsonView root) {
    if (!root.has("format"))
        root.fail("the key 'format' is missing; expected \"format\": \"" + std::string(format) + "\"");
    const std::string_view found = root.at("format").string();
    if (found != format) root.at("format").fail("expected \"" + std::string(format) + "\", found " + in_quotes(found));
}

Chat read_chat(JsonView value) {
    value.allow_keys({"template", "bos", "eos", "tools_template"});
    const auto text = [&](const char *key) { return std::string(value.has(key) ? value.at(key).string() : ""); };
    return {std::string(value.at("template").string()), text("bos"), text("eos"), text("tools_template")};
}

// Builds a model from its parts, wherever they come from.
std::shared_ptr<Model> read_model(std::string_view text, Weights weights, const fs::path &folder, const fs::path &file,
                                  const TextFiles &files) {
    const JsonText document(text, file.string());
    const JsonView root = document.root();
    check_format(root);
    root.allow_keys({"format", "name", "summary", "graphs", "generation", "tokens", "reading", "images", "speech",
                     "pages", "chat"});

    const auto model = std::make_shared<Model>();
    model->folder = folder, model->file = file, model->json = text;
    model->name = root.at("name").string();
    check_name(model->name, root.at("name"));
    if (root.has("summary")) model->summary = root.at("summary").string();
    model->weights = std::move(weights);
    GraphReader reader(model->weights);
    for (const JsonView graph : root.at("graphs").members())
        model->graphs.emplace(graph.key(), reader.read(std::string(graph.key()), graph));
    if (model->graphs.empty()) root.at("graphs").fail("expected at least one graph");
    if (root.has("tokens")) model->tokens = read_tokens(root.at("tokens"));
    if (root.has("generation")) {
        model->generation = read_generation(root.at("generation"), *model, files);
        if (!root.has("tokens")) model->tokens = named_tokens(root.at("generation"), *model->generation->target);
    }
    if (root.has("reading")) model->reading = read_reading(root.at("reading"), *model, files);
    if (root.has("images")) model->images = read_images(root.at("images"), *model);
    if (!model->images && model->generation && model->generation->takes_images())
        root.at("generation")
            .at("source_patches")
            .fail("expected the block \"images\" in this file, which says how images become these patches");
    if (root.has("speech")) model->speech = read_speech(root.at("speech"), *model);
    if (root.has("pages")) model->pages = read_pages(root.at("pages"), *model, files);
    if (root.has("chat")) model->chat = read_chat(root.at("chat"));
    return model;
}

} // namespace

std::shared_ptr<Model> Model::load(const fs::path &folder) {
    const std::vector<std::byte> bytes = read_file(folder / "model.json", largest_json, FileReader::Kind::ordinary);
    return read_model({reinterpret_cast<const char *>(bytes.data()), bytes.size()},
                      open_weights(folder / "model.safetensors"), folder, folder / "model.json",
                      {[&](const std::string &file) { return Vocabulary::open(folder / file); },
                       [&](const std::string &file) { return open_tokenizer(folder / file); },
                       [&](const std::string &file) { return read_text_file(folder / file); }});
}

std::shared_ptr<Model> Model::read(std::string_view json, Weights weights, const TextFiles &files,
                                   const std::string &name) {
    return read_model(json, std::move(weights), name, name, files);
}

std::shared_ptr<Model> Model::parse(std::string_view json, Weights weights,
                                    const std::map<std::string, std::string, std::less<>> &texts,
                                    const std::string &name) {
    const auto text = [&](const std::string &file) -> const std::string & {
        const auto found = texts.find(file);
        if (found == texts.end()) throw Error(ErrorCode::input, name + ": no file '" + file + "' was given");
        return found->second;
    };
    return read_model(json, std::move(weights), name, fs::path(name) / "model.json",
                      {[&](const std::string &file) { return Vocabulary::parse(text(file), fs::path(name) / file); },
                       [&](const std::string &file) { return parse_tokenizer(text(file), fs::path(name) / file); },
                       text});
}

} // namespace lamina::model
