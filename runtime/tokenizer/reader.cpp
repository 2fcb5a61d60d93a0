#include "tokenizer/reader.hpp"

#include "base/file.hpp"
#include "tokenizer/sentencepiece_model.hpp"

namespace lamina {
namespace tokenizer {
namespace {

constexpr uint64_t largest_file = 512u << 20; // bytes

AddedToken read_added_token(const JsonView &view) {
    view.allow_keys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const auto flag = [&](const char *key) { return view.at(key).boolean(); };
    return {static_cast<int32_t>(view.at("id").integer(0, INT32_MAX - 1)),
            std::string(view.at("content").string()),
            flag("single_word"),
            flag("lstrip"),
            flag("rstrip"),
            flag("normalized"),
            flag("special")};
}

// Hugging Face's library gives an added token the id it has in the model's vocabulary, or else the next free one, no
// matter what the file says. A file that disagrees would give ids that the model was not trained with.
std::vector<AddedToken> read_added_tokens(const JsonView &view, const Model &model) {
    std::vector<AddedToken> out;
    int32_t next = model.count();
    for (const JsonView each : view.items()) {
        AddedToken token = read_added_token(each);
        const std::optional<int32_t> known = model.id(token.content);
        const int32_t expected = known ? *known : next++;
        if (token.id != expected)
            each.at("id").fail("expected " + std::to_string(expected) +
                               (known ? ", the id of this token in the vocabulary" : ", the next one free") +
                               ", found " + std::to_string(token.id));
        out.push_back(std::move(token));
    }
    return out;
}

size_t count_values(const JsonView &view) {
    size_t count = 1;
    if (view.is_list())
        for (const JsonView each : view.items()) count += count_values(each);
    if (view.is_object())
        for (const JsonView each : view.members()) count += count_values(each);
    return count;
}

// A part of the tokenizer that is a tree of steps, each of which goes through the whole text.
JsonView steps_of(const JsonView &file, const char *key) {
    constexpr size_t most = 4096; // published tokenizers have at most some hundred
    const JsonView steps = file.at(key);
    if (const size_t count = count_values(steps); count > most)
        steps.fail("expected at most " + std::to_string(most) + " values in all of it, found " + std::to_string(count));
    return steps;
}

// Whether "truncation" or "padding" says so.
bool is_left(const JsonView &file, std::string_view key) {
    return file.has(key) && file.at(key).has("direction") && file.at(key).at("direction").string() == "Left";
}

} // namespace

Tokenizer::Parts read_tokenizer(const JsonView &file) {
    file.allow_keys({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                     "post_processor", "decoder", "model"});
    if (file.has("version") && file.at("version").string() != "1.0")
        file.at("version").fail("expected '1.0', found " + file.at("version").description());
    Tokenizer::Parts out;
    out.model = read_model(file.at("model"));
    if (file.has("normalizer")) out.normalizer = read_normalizer(steps_of(file, "normalizer"));
    if (file.has("pre_tokenizer")) out.pre_tokenizer = read_pre_tokenizer(steps_of(file, "pre_tokenizer"));
    if (file.has("post_processor")) out.post_processor = read_post_processor(steps_of(file, "post_processor"));
    if (file.has("decoder")) out.decoder = read_decoder(steps_of(file, "decoder"));
    if (file.has("added_tokens")) {
        const JsonView tokens = file.at("added_tokens");
        std::vector<AddedToken> added = read_added_tokens(tokens, *out.model);
        at_place(tokens, [&] { out.added = AddedTokens(std::move(added), out.normalizer); });
    }
    out.cut_left = is_left(file, "truncation");
    out.padded_left = is_left(file, "padding");
    return out;
}

} // namespace tokenizer

Tokenizer Tokenizer::load(const std::filesystem::path &path) {
    std::error_code ignored; // reading will say what is wrong
    const std::filesystem::path file = std::filesystem::is_directory(path, ignored) ? path / "tokenizer.json" : path;
    const std::vector<std::byte> bytes = read_file(file, tokenizer::largest_file, FileReader::Kind::ordinary);
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    if (file.extension() == ".model" || file.extension() == ".spm")
        return Tokenizer(std::make_shared<const Parts>(tokenizer::read_sentencepiece_model(text, file.string())));
    if (text.starts_with("GGUF"))
        throw Error(ErrorCode::input, file.string() +
                                          ": a GGUF file, whose tokenizer is read with its model alone; "
                                          "expected a tokenizer.json, a folder with one, or a SentencePiece "
                                          "model");
    return parse(text, file.string());
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string &name) {
    const JsonText text(std::string(json), name);
    return Tokenizer(std::make_shared<const Parts>(tokenizer::read_tokenizer(text.root())));
}

} // namespace lamina
