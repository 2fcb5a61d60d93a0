#include "model/generation_reader.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "model/graph_names.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace lamina::model {
namespace {

constexpr int64_t longest_generation = 100000;

std::shared_ptr<const TextCodec> codec_at(JsonView value, const TextFiles &files) {
    value.allow_keys({"vocabulary", "split", "lowercase", "tokenizer"});
    if (value.has("tokenizer")) {
        for (const char *key : {"vocabulary", "split", "lowercase"})
            if (value.has(key)) value.at(key).fail("a tokenizer says this by itself; leave the key out");
        const std::string file = file_at(value.at("tokenizer"));
        return codec_of(files.tokenizer(file), file);
    }
    const std::string file = file_at(value.at("vocabulary"));
    const std::string_view split = value.at("split").string();
    if (split != "characters" && split != "words")
        value.at("split").fail("expected \"characters\" or \"words\", found " + in_quotes(split) +
                               did_you_mean(split, {"characters", "words"}));
    return codec_of(files.vocabulary(file), file,
                    split == "characters" ? TextCodec::Split::characters : TextCodec::Split::words,
                    value.has("lowercase") && value.at("lowercase").boolean());
}

int32_t token_at(JsonView name, const TextCodec &target) {
    if (const auto id = target.id(std::string(name.string()))) return *id;
    name.fail("no token " + in_quotes(name.string()) + " in " + target.file());
}

// The keys of encoder-decoder models: all or none.
bool has_encoder(JsonView value) {
    const char *present = nullptr, *absent = nullptr;
    for (const char *key : {"encode", "source", "source_ids", "source_lengths"})
        (value.has(key) ? present : absent) = key;
    if (present != nullptr && absent != nullptr)
        value.fail("'" + std::string(present) + "' needs the key '" + absent +
                   "' beside it; a decoder-only model has neither");
    return present != nullptr;
}

void read_scores(JsonView value, const Graph &decode, Generation &generation) {
    generation.probabilities = value.has("probabilities");
    if (generation.probabilities && value.has("logits"))
        value.fail("'logits' and 'probabilities' are both given; decode gives one of them");
    generation.scores = output_at(value.at(generation.probabilities ? "probabilities" : "logits"), decode);
}

void read_encoder(JsonView value, const Graph &decode, Generation &generation, const Model &model,
                  const TextFiles &files) {
    const Graph &encode = graph_at(value.at("encode"), model);
    generation.encode = encode.name;
    generation.source_ids = input_at(value.at("source_ids"), encode, DType::i32, 2, "B S");
    generation.source_lengths = input_at(value.at("source_lengths"), encode, DType::i32, 1, "B");
    generation.decode_takes_lengths = find_input(decode, generation.source_lengths) != nullptr;
    if (generation.decode_takes_lengths) (void)input_at(value.at("source_lengths"), decode, DType::i32, 1, "B");
    for (const auto &[name, tensor] : encode.outputs)
        if (find_input(decode, name) != nullptr) generation.encoded.push_back(name);
    if (generation.encoded.empty())
        value.fail("no output of the graph '" + encode.name + "' is named like an input of '" + decode.name +
                   "': that is how decode is given what was encoded");
    generation.source = codec_at(value.at("source"), files);
    check_all_set(value, encode, {generation.source_ids, generation.source_lengths});
}

int32_t id_at(JsonView value) { return static_cast<int32_t>(value.integer(0, INT32_MAX)); }

std::vector<int32_t> ids_at(JsonView value) {
    std::vector<int32_t> ids;
    for (const JsonView item : value.items()) ids.push_back(id_at(item));
    return ids;
}

} // namespace

OutputTokens read_tokens(JsonView value) {
    value.allow_keys({"start", "end", "suppress", "begin_suppress"});
    OutputTokens tokens;
    if (value.has("start"))
        for (const JsonView item : value.at("start").items()) {
            tokens.start.push_back(item.is_number() ? std::vector{id_at(item)} : ids_at(item));
            if (tokens.start.back().empty()) item.fail("expected an id, or several to choose from");
        }
    if (value.has("end")) tokens.end = ids_at(value.at("end"));
    if (value.has("suppress")) tokens.suppress = ids_at(value.at("suppress"));
    if (value.has("begin_suppress")) tokens.begin_suppress = ids_at(value.at("begin_suppress"));
    return tokens;
}

OutputTokens named_tokens(JsonView generation, const TextCodec &target) {
    return {.start = {{token_at(generation.at("start"), target)}}, .end = {token_at(generation.at("end"), target)}};
}

Generation read_generation(JsonView value, const Model &model, const TextFiles &files) {
    value.allow_keys({"encode", "decode", "source_ids", "source_lengths", "target_ids", "position", "logits",
                      "probabilities", "start", "end", "max_length", "context", "source", "target"});
    Generation generation;
    const Graph &decode = graph_at(value.at("decode"), model);
    generation.decode = decode.name;
    generation.target_ids = input_at(value.at("target_ids"), decode, DType::i32, 2, "B T");
    generation.position = input_at(value.at("position"), decode, DType::i32, 1, "B");
    read_scores(value, decode, generation);
    if (has_encoder(value)) read_encoder(value, decode, generation, model, files);
    std::vector<std::string> set{generation.target_ids, generation.position, generation.source_lengths};
    set.insert(set.end(), generation.encoded.begin(), generation.encoded.end());
    check_all_set(value, decode, set);

    generation.target = codec_at(value.at("target"), files);
    generation.max_length = value.at("max_length").integer(1, longest_generation);
    if (value.has("context")) generation.context = value.at("context").integer(1, INT32_MAX);
    return generation;
}

} // namespace lamina::model
