// lamina init: a new transformer with untrained weights, as a model folder.
#include "command.hpp"
#include "init_tokens.hpp"
#include "interrupt.hpp"
#include "seed.hpp"
#include "table.hpp"

#include "base/binary_size.hpp"
#include "base/nearest.hpp"

#include <lamina/transformer.hpp>
#include <lamina/vocabulary.hpp>

#include <algorithm>
#include <set>

namespace lamina::cli {
namespace {

constexpr int64_t largest_number = INT64_C(1) << 31;

struct InitOptions {
    std::filesystem::path folder;
    std::string name; // empty: the folder's
    std::string arch = "encoder-decoder", activation = "relu", dtype = "f32", generator = "log-probabilities";
    std::string positions = "interleaved", mask = "lengths", split = "words", start = "<s>", end = "</s>";
    std::filesystem::path source_file, target_file;
    int64_t d_model = 512, heads = 8, layers = 6, ffn = 0, vocabulary = 0, max_len = 5000, max_length = 0;
    double dropout = 0, eps = 1e-5;
    uint64_t seed = 0;
    bool norm_first = false, post_norm = false, sequence_first = false, force = false;
};

// ---- From names to settings ----

template <class Value> using Choices = std::vector<std::pair<std::string, Value>>;

const Choices<Activation> activation_names{{"relu", Activation::relu},
                                           {"gelu", Activation::gelu},
                                           {"gelu_tanh", Activation::gelu_tanh},
                                           {"silu", Activation::silu}};
const Choices<Mask> mask_names{
    {"lengths", Mask::lengths}, {"keys", Mask::keys}, {"keep", Mask::keep}, {"none", Mask::none}};
const Choices<Generator::Output> output_names{{"probabilities", Generator::Output::probabilities},
                                              {"log-probabilities", Generator::Output::log_probabilities},
                                              {"logits", Generator::Output::logits}};
using Positions = EmbeddingsWithPositionalEncoding::Positions;
const Choices<Positions> position_names{
    {"interleaved", Positions::interleaved}, {"halves", Positions::halves}, {"learned", Positions::learned}};

Choices<DType> weight_dtypes() {
    Choices<DType> out;
    for (const plugin::StorageType &type : plugin::storage_types)
        if ((type.dtype & plugin::weight_dtypes) != 0) out.emplace_back(type.name, DType{type.dtype});
    return out;
}

// The command line has been checked, so the name is one of them.
template <class Value> Value chosen(const Choices<Value> &choices, const std::string &name) {
    return std::find_if(choices.begin(), choices.end(), [&](const auto &choice) { return choice.first == name; })
        ->second;
}

TransformerLayer layer_of(const InitOptions &o) {
    return {.d_model = o.d_model,
            .heads = o.heads,
            .ffn = o.ffn != 0 ? o.ffn : 4 * o.d_model,
            .dropout = o.dropout,
            .eps = o.eps,
            .activation = chosen(activation_names, o.activation),
            .norm_first = !o.post_norm,
            .batch_first = !o.sequence_first};
}

Generator generator_of(const InitOptions &o, int64_t vocabulary) {
    return {.d_model = o.d_model, .vocabulary = vocabulary, .output = chosen(output_names, o.generator)};
}

EmbeddingsWithPositionalEncoding embedding_of(const InitOptions &o, int64_t vocabulary) {
    return {.d_model = o.d_model,
            .vocabulary = vocabulary,
            .max_len = o.max_len,
            .positions = chosen(position_names, o.positions),
            .dropout = o.dropout,
            .batch_first = !o.sequence_first};
}

// ---- Vocabularies ----

using Tokens = std::vector<std::string>;

// Empty if no file is given.
Tokens tokens_of(const std::filesystem::path &file) { return file.empty() ? Tokens{} : read_vocabulary(file); }

// The number of tokens, from the file or --vocab.
int64_t size_of(const Tokens &tokens, const InitOptions &o) {
    if (!tokens.empty()) return static_cast<int64_t>(tokens.size());
    if (o.vocabulary != 0) return o.vocabulary;
    throw Error(ErrorCode::usage,
                "the number of tokens is missing: give --vocab N, or a file of tokens (--source-vocab, "
                "--target-vocab)");
}

// ---- The models ----

ModelDescription make_encoder(const InitOptions &o, const BuildOptions &build_options) {
    if (!o.target_file.empty())
        throw Error(ErrorCode::usage, "--target-vocab cannot be used with --arch encoder, which generates no text");
    return build(EncoderOnly{.embedding = embedding_of(o, size_of(tokens_of(o.source_file), o)),
                             .encoder = {.layer = layer_of(o), .layers = o.layers, .mask = chosen(mask_names, o.mask)}},
                 build_options);
}

// The maximum number of tokens to generate: by default, as many as there are positions after the start token.
int64_t max_length_of(const InitOptions &o) {
    constexpr int64_t by_default = 64;
    const int64_t most_tokens = o.max_len - 1;
    if (most_tokens < 1)
        throw Error(ErrorCode::usage, "--max-len 1: expected 2 or more with vocabularies: the start token takes the "
                                      "first position, and no text could be generated");
    if (o.max_length > most_tokens)
        throw Error(ErrorCode::usage, "--max-length " + std::to_string(o.max_length) + ": expected at most " +
                                          std::to_string(most_tokens) + ", since --max-len " +
                                          std::to_string(o.max_len) +
                                          " positions include the start token: lower it, or raise --max-len");
    return o.max_length != 0 ? o.max_length : std::min(by_default, most_tokens);
}

// Refuses options with which text generation does not work.
void refuse_without_text(const InitOptions &o) {
    if (o.sequence_first)
        throw Error(ErrorCode::usage, "--sequence-first cannot be used with vocabularies: texts are batches (B, T)");
    const bool has_source = o.arch == "encoder-decoder";
    if (has_source && o.mask != "lengths")
        throw Error(ErrorCode::usage, "--mask " + o.mask +
                                          " cannot be used with vocabularies: the sources of a batch " +
                                          "differ in length; expected lengths");
    if (!has_source && o.mask == "keep")
        throw Error(ErrorCode::usage, "--mask keep cannot be used with vocabularies: nothing masks tokens of earlier " +
                                          std::string("steps; expected none"));
}

TextVocabularies text_options(const InitOptions &o, const Tokens &source, const Tokens &target) {
    refuse_without_text(o);
    const bool characters = o.split == "characters";
    if (o.start == o.end)
        throw Error(ErrorCode::usage, "--start and --end are both '" + o.start +
                                          "': expected different tokens, since " +
                                          "generation begins with one and ends at the other");
    const std::set<std::string> special{o.start, o.end};
    refuse_unreadable(source, o.source_file, characters, special);
    refuse_unreadable(target, o.target_file, characters, special);
    return {.source = source,
            .target = target,
            .source_characters = characters,
            .target_characters = characters,
            .start = o.start,
            .end = o.end,
            .max_length = max_length_of(o)};
}

ModelDescription make_decoder(const InitOptions &o, const BuildOptions &given) {
    BuildOptions build_options = given;
    if (!o.source_file.empty())
        throw Error(ErrorCode::usage, "--source-vocab cannot be used with --arch decoder, which has no source");
    const Tokens target = tokens_of(o.target_file);
    const int64_t vocabulary = size_of(target, o);
    if (!target.empty()) build_options.text = text_options(o, {}, target);
    // Padding after a causal sequence changes nothing before it, so lengths would have no effect.
    const Mask mask = chosen(mask_names, o.mask) == Mask::keep ? Mask::keep : Mask::none;
    return build(DecoderOnly{.embedding = embedding_of(o, vocabulary),
                             .decoder = {.layer = layer_of(o), .layers = o.layers, .mask = mask},
                             .generator = generator_of(o, vocabulary)},
                 build_options);
}

ModelDescription make_encoder_decoder(const InitOptions &o, const BuildOptions &given) {
    BuildOptions build_options = given;
    const Tokens source = tokens_of(o.source_file), target = tokens_of(o.target_file);
    if (o.source_file.empty() != o.target_file.empty())
        throw Error(ErrorCode::usage, "--source-vocab and --target-vocab must be given together; or give --vocab N");
    const int64_t source_size = size_of(source, o), target_size = size_of(target, o);
    if (!target.empty()) build_options.text = text_options(o, source, target);
    const TransformerLayer layer = layer_of(o);
    const Mask mask = chosen(mask_names, o.mask);
    return build(EncoderDecoder{.source_embedding = embedding_of(o, source_size),
                                .encoder = {.layer = layer, .layers = o.layers, .mask = mask},
                                .target_embedding = embedding_of(o, target_size),
                                .decoder = {.layer = layer.with_source_attention(),
                                            .layers = o.layers,
                                            .mask = mask == Mask::keep ? Mask::keep : Mask::none,
                                            .source_mask = mask},
                                .generator = generator_of(o, target_size)},
                 build_options);
}

using Make = ModelDescription (*)(const InitOptions &, const BuildOptions &);
const Choices<Make> makers{
    {"encoder", make_encoder}, {"decoder", make_decoder}, {"encoder-decoder", make_encoder_decoder}};

// ---- The command ----

void refuse_filled(const InitOptions &o) {
    std::error_code ignored; // if the folder is not accessible, writing into it gives a better error
    if (!o.force && std::filesystem::is_directory(o.folder, ignored) && !std::filesystem::is_empty(o.folder, ignored))
        throw Error(ErrorCode::usage, o.folder.string() + ": not empty; choose another folder, or give --force to "
                                                          "replace the model in it");
}

// The name of a folder, also for "." and "../new/".
std::string name_at(const std::filesystem::path &path) {
    const std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
    return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

// Refuses options that have no effect on the chosen kind of model.
void refuse_idle(const InitOptions &o, const Arguments &app) {
    if (o.arch == "encoder") {
        refuse_given(app, {"--target-vocab", "--generator"},
                     "cannot be used with --arch encoder, which generates no text");
        refuse_given(app, {"--split", "--start", "--end", "--max-length"},
                     "is about text, so it cannot be used with --arch encoder, which takes ids and generates no text");
    }
    if (o.arch == "decoder") {
        refuse_given(app, {"--source-vocab"}, "cannot be used with --arch decoder, which has no source");
        if (o.mask == "lengths" || o.mask == "keys")
            refuse_given(app, {"--mask"},
                         o.mask + " cannot be used with --arch decoder: padding after a causal sequence changes "
                                  "nothing before it; expected none or keep");
    }
    if (o.target_file.empty() && o.source_file.empty())
        refuse_given(app, {"--split", "--start", "--end", "--max-length"},
                     "is about text: it needs --target-vocab FILE");
}

int init(const InitOptions &o, const Arguments &app, Output &output) {
    refuse_idle(o, app);
    if (o.vocabulary != 0 && !(o.source_file.empty() && o.target_file.empty()))
        throw Error(ErrorCode::usage, "--vocab cannot be used with files of tokens, which determine the number");
    refuse_filled(o);
    BuildOptions build_options;
    build_options.seed = o.seed;
    build_options.dtype = chosen(weight_dtypes(), o.dtype);
    const std::filesystem::path folder = o.folder.has_filename() ? o.folder : o.folder.parent_path();
    build_options.name = o.name.empty() ? name_at(o.folder) : o.name;
    const auto progress_of = [&](const char *what) {
        return [&output, what](size_t done, size_t all) {
            stop_if_interrupted();
            output.progress(what, done, all);
        };
    };
    build_options.progress = progress_of("weights");
    const ModelDescription model = chosen(makers, o.arch)(o, build_options);
    model.save(folder, o.force, progress_of("saving"));
    int64_t parameters = 0;
    uint64_t bytes = 0;
    for (const auto &[name, weight] : model.weights) parameters += weight.size(), bytes += weight.bytes().size();
    output.note("wrote " + folder.string() + ": " + grouped(parameters) + " parameters, " + binary_size(bytes));
    if (output.json())
        output.print_json(
            {{"folder", folder.string()}, {"name", model.name}, {"parameters", parameters}, {"bytes", bytes}});
    return 0;
}

} // namespace

Command add_init(const Arguments &lamina, const GlobalOptions &) {
    const Arguments app = lamina.command("init", "Create a transformer with untrained weights.");
    app.footer("Matrices are drawn uniformly from +-sqrt(6 / (rows + columns)). The same seed gives the same model on "
               "every machine.\n"
               "With vocabularies, one token per line, the model turns text into text.\n"
               "Examples: lamina init translator --source-vocab en.txt --target-vocab fr.txt\n"
               "          lamina init writer --arch decoder --layers 12 --target-vocab en.txt");
    auto o = std::make_shared<InitOptions>();
    app.positional("DIR", o->folder, "model folder to write").required().not_empty();
    const auto word = [&](const std::string &name, std::string &value, const std::string &type,
                          const std::string &description) {
        app.option(name, value, type, description).shows_default().not_empty();
    };
    const auto choice = [&](const std::string &name, std::string &value, const std::vector<std::string> &words,
                            const std::string &description) {
        app.choice(name, value, words, description).shows_default();
    };
    const auto number = [&](const std::string &name, int64_t &value, const std::string &description) {
        Argument option = app.option(name, value, "N", description);
        option.within(int64_t{1}, largest_number);
        if (value != 0) option.shows_default(); // 0: derived from other options
    };
    choice("--arch", o->arch, names_of(makers), "what the model is made of");
    number("--d-model", o->d_model, "width of tokens; must be even");
    number("--heads", o->heads, "attention heads; must divide --d-model");
    number("--layers", o->layers, "layers of the encoder, and of the decoder");
    number("--ffn", o->ffn, "width of the feed-forward network's hidden layer; default: 4 times --d-model");
    number("--vocab", o->vocabulary, "number of tokens, if no file lists them");
    app.option("--source-vocab", o->source_file, "FILE", "tokens of the encoder").not_empty();
    app.option("--target-vocab", o->target_file, "FILE", "tokens of the decoder").not_empty();
    choice("--split", o->split, {"words", "characters"},
           "how text is split into tokens; words are separated by spaces");
    word("--start", o->start, "TOKEN", "token of --target-vocab that generation begins with");
    word("--end", o->end, "TOKEN", "token of --target-vocab that ends generation");
    number("--max-length", o->max_length,
           "maximum number of tokens to generate; default: 64, or what --max-len allows");
    number("--max-len", o->max_len, "number of positions: the maximum length of a sequence");
    choice("--positions", o->positions, names_of(position_names),
           "what is added to embeddings: sinusoids, interleaved (sin, cos, sin, cos, ...) or in halves; or a learned "
           "table");
    add_seed(app, o->seed, "seed of the weights");
    choice("--dtype", o->dtype, names_of(weight_dtypes()), "dtype of matrices");
    choice("--activation", o->activation, names_of(activation_names), "activation of the feed-forward networks");
    choice("--generator", o->generator, names_of(output_names), "output of the decoder");
    choice("--mask", o->mask, names_of(mask_names),
           "how padding is given: as lengths, as a 1 or 0 for each token (keys), or for each query and key (keep)");
    app.option("--dropout", o->dropout, "P", "dropout probability, only stored in the model; inference drops nothing")
        .shows_default();
    app.option("--eps", o->eps, "X", "eps of the norms").shows_default();
    const Argument norm_first = app.flag("--norm-first", o->norm_first, "norms before the sublayers; the default");
    app.flag("--post-norm", o->post_norm, "norms after the sublayers, as in the paper of 2017").excludes(norm_first);
    app.flag("--sequence-first", o->sequence_first, "sequences are (T, B, C) instead of (B, T, C)");
    word("--name", o->name, "NAME", "name of the model; default: the folder's");
    app.flag("--force", o->force, "replace the model in a folder that is not empty");
    return {app, [o, app](Output &output) { return init(*o, app, output); }};
}

} // namespace lamina::cli
