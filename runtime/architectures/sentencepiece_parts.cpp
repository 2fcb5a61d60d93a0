#include "architectures/sentencepiece_parts.hpp"

#include "architectures/sentencepiece_classes.hpp"
#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

struct Class {
    std::string_view name, file;
    TokenizerParts (*parts)(const sentencepiece::Source &source);
};
constexpr std::array<Class, 8> tokenizer_classes{
    {{"LlamaTokenizer", "tokenizer.model", sentencepiece::llama},
     {"DebertaV2Tokenizer", "spm.model", sentencepiece::deberta_v2},
     {"GemmaTokenizer", "tokenizer.model", sentencepiece::gemma},
     {"MBart50Tokenizer", "sentencepiece.bpe.model", sentencepiece::mbart_50},
     {"PegasusTokenizer", "spiece.model", sentencepiece::pegasus},
     {"XLMRobertaTokenizer", "sentencepiece.bpe.model", sentencepiece::xlm_roberta},
     {"T5Tokenizer", "spiece.model", sentencepiece::t5},
     {"", "tokenizer.model", sentencepiece::plain}}};

// The class that transformers takes for a model, if its files name none (auto/tokenization_auto.py).
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> of_models{
    {{"deberta-v2", "DebertaV2Tokenizer"},
     {"gemma", "GemmaTokenizer"},
     {"gemma2", "GemmaTokenizer"},
     {"gemma3", "GemmaTokenizer"},
     {"gemma3_text", "GemmaTokenizer"},
     {"gte", "XLMRobertaTokenizer"},
     {"mt5", "T5Tokenizer"},
     {"pegasus", "PegasusTokenizer"},
     {"t5", "T5Tokenizer"},
     {"xlm-roberta", "XLMRobertaTokenizer"}}};
// Models for which it takes no class, whatever their files name.
constexpr std::array<std::string_view, 18> without_class{"ernie4_5",   "ernie4_5_moe", "glm",
                                                         "glm4",       "glm4_moe",     "glm4_moe_lite",
                                                         "granite",    "granitemoe",   "granitemoehybrid",
                                                         "ministral3", "mistral",      "mixtral",
                                                         "modernbert", "olmo2",        "olmo3",
                                                         "phi3",       "qwen2",        "stablelm"};
// Names that stand for no class of their own.
constexpr std::array<std::string_view, 3> general{"PreTrainedTokenizer", "TokenizersBackend", ""};

// Null: the tokenizer is of a class that is not known here.
const Class *class_of(const TokenizerSettings &options, const std::string &model_type) {
    std::string name = options.class_name();
    if (std::ranges::find(without_class, model_type) != without_class.end()) return &tokenizer_classes.back();
    if (std::ranges::find(general, name) != general.end()) {
        name.clear();
        for (const auto &[type, its_class] : of_models)
            if (type == model_type) name = its_class;
    }
    const auto found = std::ranges::find(tokenizer_classes, name, &Class::name);
    return found == tokenizer_classes.end() ? nullptr : &*found;
}

bool has_pieces(const fs::path &folder) {
    return std::ranges::any_of(tokenizer_classes, [&](const Class &each) { return has_file(folder / each.file); });
}

} // namespace

std::optional<TokenizerParts> sentencepiece_parts(const fs::path &folder, const TokenizerSettings &options,
                                                  const std::string &model_type) {
    if (!has_pieces(folder)) return std::nullopt;
    const Class *its_class = class_of(options, model_type);
    if (its_class == nullptr) return std::nullopt;
    const fs::path path = folder / its_class->file;
    if (!has_file(path)) return std::nullopt;
    const tokenizer::SentencePieceFile file = tokenizer::read_sentencepiece_file(text_of(path), path.string());
    try {
        return its_class->parts({folder, options, file});
    } catch (const Error &e) {
        if (std::string_view(e.what()).starts_with(folder.string())) throw;
        throw Error(e.code(), path.string() + ": " + e.what());
    }
}

std::string why_not_read(const fs::path &folder) {
    if (!has_pieces(folder)) return "";
    const std::string name = TokenizerSettings(folder).class_name();
    return (name.empty() ? "no \"tokenizer_class\" in tokenizer_config.json names the class of its SentencePiece model"
                         : in_quotes(name) + " is not supported for a SentencePiece model") +
           "; supported: DebertaV2Tokenizer, GemmaTokenizer, LlamaTokenizer, "
           "M2M100Tokenizer, MBart50Tokenizer, PegasusTokenizer, T5Tokenizer and XLMRobertaTokenizer";
}

} // namespace lamina::architectures
