// lamina tokenize: prints the tokens of texts, with ids and positions; or the text of ids.
#include "command.hpp"
#include "table.hpp"

#include "base/model_path.hpp"

#include <lamina/tokenizer.hpp>

#include <charconv>

namespace lamina::cli {
namespace {

struct TokenizeOptions {
    std::filesystem::path path;
    std::vector<std::string> texts;
    bool decode = false, no_special = false;
};

Json as_json(const std::string &text, const Encoding &encoding) {
    Json tokens = Json::array();
    for (size_t i = 0; i < encoding.size(); ++i)
        tokens.push_back({{"id", encoding.ids[i]},
                          {"token", encoding.tokens[i]},
                          {"begin", encoding.offsets[i].begin},
                          {"end", encoding.offsets[i].end},
                          {"special", bool{encoding.special[i]}}});
    return {{"text", text}, {"tokens", tokens}};
}

std::string as_text(const Encoding &encoding, const Output &output) {
    Table table({"ID", "TOKEN", "CHARACTERS"});
    for (size_t i = 0; i < encoding.size(); ++i) {
        const TextRange &range = encoding.offsets[i];
        table.row({std::to_string(encoding.ids[i]),
                   {encoding.tokens[i], encoding.special[i] ? Style::dim : Style::bold},
                   encoding.special[i] ? "" : std::to_string(range.begin) + "-" + std::to_string(range.end)});
    }
    return table.str(output);
}

int32_t id_of(const std::string &word) {
    int32_t out = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
    if (error != std::errc() || end != word.data() + word.size() || out < 0)
        throw Error(ErrorCode::usage, "--decode: expected token ids, found '" + word + "'");
    return out;
}

void decode(const Tokenizer &tokenizer, const TokenizeOptions &options, Output &output) {
    std::vector<int32_t> ids;
    for (const std::string &word : options.texts) {
        ids.push_back(id_of(word));
        if (static_cast<size_t>(ids.back()) >= tokenizer.size())
            throw Error(ErrorCode::usage,
                        "--decode: expected token ids below " + std::to_string(tokenizer.size()) + ", found " + word);
    }
    const std::string text = tokenizer.decode(ids, options.no_special);
    if (output.json())
        output.print_json({{"ids", ids}, {"text", text}});
    else
        output.print(text + "\n");
}

void encode(const Tokenizer &tokenizer, const TokenizeOptions &options, Output &output) {
    const EncodeOptions encoding{.add_special_tokens = !options.no_special};
    Json all = Json::array();
    for (const std::string &text : options.texts) {
        const Encoding tokens = tokenizer.encode(text, encoding);
        if (output.json())
            all.push_back(as_json(text, tokens));
        else
            output.print(as_text(tokens, output));
    }
    if (output.json()) output.print_json(all);
}

} // namespace

Command add_tokenize(const Arguments &lamina, const GlobalOptions &) {
    const Arguments app =
        lamina.command("tokenize", "Print the tokens of texts: ids, tokens, and the characters that they stand for.");
    auto options = std::make_shared<TokenizeOptions>();
    app.positional("PATH", options->path,
                   "a tokenizer.json, a folder with one, its name at Hugging Face, or a SentencePiece *.model")
        .required();
    app.positional("TEXT", options->texts, "texts; with --decode, token ids").required();
    app.flag("--decode", options->decode, "print the text that these ids stand for");
    app.flag("--no-special", options->no_special, "add no special tokens to texts, or leave them out of decoded text");
    return {app, [options](Output &output) {
                const std::filesystem::path path = model_path(options->path);
                if (std::filesystem::exists(path / "model.json") && !std::filesystem::exists(path / "tokenizer.json"))
                    throw Error(ErrorCode::input, path.string() + ": expected a tokenizer.json, found a model with " +
                                                      (std::filesystem::exists(path / "tokenizer.gguf")
                                                           ? "a tokenizer.gguf, which is read with its model alone"
                                                           : "a plain vocabulary"));
                const Tokenizer tokenizer = Tokenizer::load(path);
                (options->decode ? decode : encode)(tokenizer, *options, output);
                return 0;
            }};
}

} // namespace lamina::cli
