#include "model/generation_reader.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

namespace lamina::model {
namespace {

constexpr int64_t longest_generation = 100000;

const Graph &graph_at(const JsonValue &name, const Model &model) {
    const auto found = model.graphs.find(name.string());
    if (found == model.graphs.end())
        name.fail("no graph " + in_quotes(name.string()) + did_you_mean(name.string(), names_of(model.graphs)));
    return found->second;
}

size_t rank_of(const GraphInput &input) {
    return static_cast<size_t>(std::count(input.dims.begin(), input.dims.end(), ' ')) + 1;
}

const GraphInput *find_input(const Graph &graph, const std::string &name) {
    const auto found =
        std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](const GraphInput &i) { return i.name == name; });
    return found == graph.inputs.end() ? nullptr : &*found;
}

// The name of an input, which must have this dtype and rank; `dims` shows them in the message ("B T").
std::string input_at(const JsonValue &name, const Graph &graph, DType dtype, size_t rank, const char *dims) {
    const GraphInput *input = find_input(graph, name.string());
    if (input == nullptr) {
        std::vector<std::string> known;
        for (const GraphInput &i : graph.inputs) known.push_back(i.name);
        name.fail("the graph '" + graph.name + "' has no input " + in_quotes(name.string()) +
                  did_you_mean(name.string(), known));
    }
    if (input->dtype != dtype || rank_of(*input) != rank)
        name.fail("expected an input of " + std::string(name_of(dtype)) + " with dims like \"" + dims + "\"; '" +
                  input->name + "' is " + name_of(input->dtype) + " \"" + input->dims + "\"");
    return input->name;
}

std::string output_at(const JsonValue &name, const Graph &graph) {
    if (!graph.outputs.contains(name.string()))
        name.fail("the graph '" + graph.name + "' has no output " + in_quotes(name.string()) +
                  did_you_mean(name.string(), names_of(graph.outputs)));
    return name.string();
}

// Generation sets only the inputs that it knows; any other input would have no value.
void check_all_set(const JsonValue &place, const Graph &graph, const std::vector<std::string> &set) {
    for (const GraphInput &input : graph.inputs)
        if (std::find(set.begin(), set.end(), input.name) == set.end())
            place.fail("nothing gives the input '" + input.name + "' of the graph '" + graph.name + "' a value");
}

TextCodec codec_at(const JsonValue &value, Model &model, const OpenVocabulary &open) {
    value.allow_keys({"vocabulary", "split", "lowercase"});
    TextCodec codec;
    const JsonValue file = value.at("vocabulary");
    codec.vocabulary = file.string();
    const std::filesystem::path path = codec.vocabulary;
    const bool inside =
        path.filename() == path && codec.vocabulary != ".." && codec.vocabulary.find('\0') == std::string::npos;
    if (!inside || codec.vocabulary.empty())
        file.fail("expected the name of a file in the model folder, found " + in_quotes(codec.vocabulary));
    const std::string &split = value.at("split").string();
    if (split != "characters" && split != "words")
        value.at("split").fail("expected \"characters\" or \"words\", found " + in_quotes(split) +
                               did_you_mean(split, {"characters", "words"}));
    codec.characters = split == "characters";
    if (value.has("lowercase")) codec.lowercase = value.at("lowercase").boolean();
    if (!model.vocabularies.contains(codec.vocabulary))
        model.vocabularies.emplace(codec.vocabulary, open(codec.vocabulary));
    return codec;
}

std::string token_at(const JsonValue &name, const Generation &generation, const Model &model) {
    const std::string &file = generation.target.vocabulary;
    if (!model.vocabularies.find(file)->second.id(name.string()))
        name.fail("no token " + in_quotes(name.string()) + " in " + file);
    return name.string();
}

// The keys of encoder-decoder models: all or none.
bool has_encoder(const JsonValue &value) {
    const char *present = nullptr, *absent = nullptr;
    for (const char *key : {"encode", "source", "source_ids", "source_lengths"})
        (value.has(key) ? present : absent) = key;
    if (present != nullptr && absent != nullptr)
        value.fail("'" + std::string(present) + "' needs the key '" + absent +
                   "' beside it; a decoder-only model has neither");
    return present != nullptr;
}

void read_scores(const JsonValue &value, const Graph &decode, Generation &generation) {
    generation.probabilities = value.has("probabilities");
    if (generation.probabilities && value.has("logits"))
        value.fail("'logits' and 'probabilities' are both given; decode gives one of them");
    generation.scores = output_at(value.at(generation.probabilities ? "probabilities" : "logits"), decode);
}

void read_encoder(const JsonValue &value, const Graph &decode, Generation &generation, Model &model,
                  const OpenVocabulary &open) {
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
    generation.source = codec_at(value.at("source"), model, open);
    check_all_set(value, encode, {generation.source_ids, generation.source_lengths});
}

int32_t id_at(const JsonValue &value) { return static_cast<int32_t>(value.integer(0, INT32_MAX)); }

std::vector<int32_t> ids_at(const JsonValue &value) {
    std::vector<int32_t> ids;
    for (const JsonValue &item : value.items()) ids.push_back(id_at(item));
    return ids;
}

} // namespace

OutputTokens read_tokens(const JsonValue &value) {
    value.allow_keys({"start", "end", "suppress", "begin_suppress"});
    OutputTokens tokens;
    if (value.has("start"))
        for (const JsonValue &item : value.at("start").items()) {
            tokens.start.push_back(item.is_number() ? std::vector{id_at(item)} : ids_at(item));
            if (tokens.start.back().empty()) item.fail("expected an id, or several to choose from");
        }
    if (value.has("end")) tokens.end = ids_at(value.at("end"));
    if (value.has("suppress")) tokens.suppress = ids_at(value.at("suppress"));
    if (value.has("begin_suppress")) tokens.begin_suppress = ids_at(value.at("begin_suppress"));
    return tokens;
}

Generation read_generation(const JsonValue &value, Model &model, const OpenVocabulary &open) {
    value.allow_keys({"encode", "decode", "source_ids", "source_lengths", "target_ids", "position", "logits",
                      "probabilities", "start", "end", "max_length", "source", "target"});
    Generation generation;
    const Graph &decode = graph_at(value.at("decode"), model);
    generation.decode = decode.name;
    generation.target_ids = input_at(value.at("target_ids"), decode, DType::i32, 2, "B T");
    generation.position = input_at(value.at("position"), decode, DType::i32, 1, "B");
    read_scores(value, decode, generation);
    if (has_encoder(value)) read_encoder(value, decode, generation, model, open);
    std::vector<std::string> set{generation.target_ids, generation.position, generation.source_lengths};
    set.insert(set.end(), generation.encoded.begin(), generation.encoded.end());
    check_all_set(value, decode, set);

    generation.target = codec_at(value.at("target"), model, open);
    generation.start = token_at(value.at("start"), generation, model);
    generation.end = token_at(value.at("end"), generation, model);
    generation.max_length = value.at("max_length").integer(1, longest_generation);
    return generation;
}

} // namespace lamina::model
