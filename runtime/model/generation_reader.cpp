#include "model/generation_reader.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "model/alignment_block.hpp"
#include "model/graph_names.hpp"
#include "model/speech_block.hpp"
#include "model/tokenizer_reader.hpp"

#include <lamina/sampling.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <sstream>

namespace lamina::model {
namespace {

constexpr int64_t longest_generation = 100000;

std::shared_ptr<const TextCodec> codec_at(JsonView value, const TextFiles &files) {
    value.allow_keys({"vocabulary", "split", "lowercase", "tokenizer", "special", "begin", "end", "clean_up"});
    if (value.has("tokenizer")) {
        for (const char *key : {"split", "lowercase"})
            if (value.has(key)) value.at(key).fail("a tokenizer says this by itself; leave the key out");
        return codec_of(read_tokenizer(value, files), file_at(value.at("tokenizer")));
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

// Whether the block has these keys: all or none of them.
bool has_all(JsonView value, std::initializer_list<const char *> keys) {
    const char *present = nullptr, *absent = nullptr;
    for (const char *key : keys) (value.has(key) ? present : absent) = key;
    if (present != nullptr && absent != nullptr)
        value.fail("'" + std::string(present) + "' needs the key '" + absent +
                   "' beside it; other models have neither");
    return present != nullptr;
}

// Whether the block has the keys of a source, of one kind: a text, audio or an image.
bool has_source(JsonView value) {
    const bool audio = value.has("source_samples") || value.has("sample_rate"), image = value.has("source_patches");
    for (const char *key : {"window", "normalize", "norm_lengths"})
        if (!audio && value.has(key)) value.at(key).fail("only a source of audio (source_samples) has it");
    for (const char *key : {"source", "source_ids"})
        if (audio && value.has(key)) value.at(key).fail("the source is audio (source_samples); remove this key");
    for (const char *key : {"source", "source_ids", "source_lengths", "source_samples", "sample_rate"})
        if (image && value.has(key)) value.at(key).fail("the source is an image (source_patches); remove this key");
    if (audio) return has_all(value, {"encode", "source_samples", "sample_rate"});
    if (image) return has_all(value, {"encode", "source_patches"});
    return has_all(value, {"encode", "source", "source_ids", "source_lengths"});
}

void read_scores(JsonView value, const Graph &decode, Generation &generation) {
    generation.probabilities = value.has("probabilities");
    if (generation.probabilities && value.has("logits"))
        value.fail("'logits' and 'probabilities' are both given; decode gives one of them");
    generation.scores = output_at(value.at(generation.probabilities ? "probabilities" : "logits"), decode);
}

// To a decoder with an input of the same name.
void pass_lengths_on(JsonView name, const Graph &decode, Generation &generation) {
    generation.decode_takes_lengths = find_input(decode, generation.source_lengths) != nullptr;
    if (generation.decode_takes_lengths) (void)input_at(name, decode, DType::i32, 1, "B");
}

void read_text_source(JsonView value, const Graph &encode, const Graph &decode, Generation &generation,
                      const TextFiles &files) {
    generation.source_ids = input_at(value.at("source_ids"), encode, DType::i32, 2, "B S");
    generation.source_lengths = input_at(value.at("source_lengths"), encode, DType::i32, 1, "B");
    pass_lengths_on(value.at("source_lengths"), decode, generation);
    generation.source = codec_at(value.at("source"), files);
    check_all_set(value, encode, {generation.source_ids, generation.source_lengths});
}

// The number of an input's axis that has a fixed size, from `least` to `most`: "B 480000".
int64_t fixed_size(JsonView name, const GraphInput &input, size_t axis, int64_t least, int64_t most) {
    std::istringstream dims(input.dims);
    const std::vector<std::string> all{std::istream_iterator<std::string>(dims), {}};
    const std::string &size = all.at(axis);
    int64_t out = 0;
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), out);
    if (error != std::errc() || end != size.data() + size.size() || out < least || out > most)
        name.fail("expected a fixed number as size " + std::to_string(axis) + " of this input, " +
                  std::to_string(least) + " to " + std::to_string(most) + "; '" + input.name + "' is \"" + input.dims +
                  "\"");
    return out;
}

void read_image_inputs(JsonView value, const Graph &decode, Generation &generation) {
    constexpr int64_t most_channels = int64_t{1} << 20; // so that a bad file cannot exhaust memory
    const JsonView rows = value.at("image_rows");
    generation.image_rows = input_at(rows, decode, DType::f32, 3, "B T C");
    generation.image_mask = input_at(value.at("image_mask"), decode, DType::i32, 2, "B T");
    if (value.has("image_ahead"))
        generation.image_ahead = input_at(value.at("image_ahead"), decode, DType::i32, 2, "B T");
    if (value.has("coordinates"))
        generation.coordinates = input_at(value.at("coordinates"), decode, DType::i32, 3, "B T 3");
    generation.image_channels = fixed_size(rows, *find_input(decode, generation.image_rows), 2, 1, most_channels);
}

// Of any length, in frames, or always of the same.
void read_audio_source(JsonView value, const Graph &encode, const Graph &decode, Generation &generation) {
    if (has_all(value, {"window", "source_lengths"})) {
        std::vector<std::string> set;
        generation.audio = read_audio_in_frames(value, encode, "source_samples", "source_lengths", set);
        generation.source_lengths = generation.audio->frames->lengths.input;
        pass_lengths_on(value.at("source_lengths").at("input"), decode, generation);
        return check_all_set(value, encode, set);
    }
    constexpr int64_t shortest_audio = 6; // cut in the last sixth
    const JsonView name = value.at("source_samples");
    AudioInput audio{.samples = input_at(name, encode, DType::f32, 2, "B 480000"),
                     .rate = value.at("sample_rate").integer(1, highest_sample_rate)};
    audio.length = fixed_size(name, *find_input(encode, audio.samples), 1, shortest_audio, longest_window);
    generation.source_values = SourceValues{audio.samples, {audio.length}};
    generation.audio = std::move(audio);
}

// How images become these is in the block "images".
void read_image_source(JsonView value, const Graph &encode, Generation &generation) {
    constexpr int64_t most = int64_t{1} << 24; // so that a bad file cannot exhaust memory
    const JsonView name = value.at("source_patches");
    const std::string patches = input_at(name, encode, DType::f32, 3, "B 576 768");
    const GraphInput &input = *find_input(encode, patches);
    const int64_t count = fixed_size(name, input, 1, 1, most);
    generation.source_values = SourceValues{patches, {count, fixed_size(name, input, 2, 1, most / count)}};
}

void read_encoder(JsonView value, const Graph &decode, Generation &generation, const Model &model,
                  const TextFiles &files) {
    const Graph &encode = graph_at(value.at("encode"), model);
    generation.encode = encode.name;
    if (value.has("source_samples"))
        read_audio_source(value, encode, decode, generation);
    else if (value.has("source_patches"))
        read_image_source(value, encode, generation);
    else
        read_text_source(value, encode, decode, generation, files);
    if (generation.source_values) check_all_set(value, encode, {generation.source_values->input});
    for (const auto &[name, tensor] : encode.outputs)
        if (find_input(decode, name) != nullptr) generation.encoded.push_back(name);
    if (generation.encoded.empty())
        value.fail("no output of the graph '" + encode.name + "' is named like an input of '" + decode.name +
                   "': that is how decode is given what was encoded");
}

std::map<std::string, double> read_sampling(JsonView value) {
    std::vector<std::string> known;
    for (const SamplingOption &option : sampling_options) known.emplace_back(option.name);
    value.allow_keys(known);
    std::map<std::string, double> out;
    for (const SamplingOption &option : sampling_options) {
        const std::string key(option.name);
        if (!value.has(key)) continue;
        const double number = value.at(key).number();
        if (!option.takes(number)) value.at(key).fail("expected " + option.expected());
        out.emplace(key, number);
    }
    return out;
}

int32_t id_at(JsonView value) { return static_cast<int32_t>(value.integer(0, INT32_MAX)); }

std::vector<int32_t> ids_at(JsonView value) {
    std::vector<int32_t> ids;
    for (const JsonView item : value.items()) ids.push_back(id_at(item));
    return ids;
}

// {"place": 1, "ids": {"en": 50259, "de": 50261}}; of a source, "source": "begin" or "end" stands for the place.
TokenChoice choice_at(JsonView value, size_t places) {
    value.allow_keys({"place", "source", "ids"});
    TokenChoice out;
    if (value.has("source")) {
        const std::string_view at = value.at("source").string();
        if (at != "begin" && at != "end")
            value.at("source").fail("expected \"begin\" or \"end\", found " + in_quotes(at) +
                                    did_you_mean(at, {"begin", "end"}));
        if (value.has("place")) value.at("place").fail("\"source\" says the place; leave this key out");
        out.at = at == "begin" ? TokenChoice::At::source_begin : TokenChoice::At::source_end;
    } else {
        out.place = static_cast<size_t>(value.at("place").integer(0, static_cast<int64_t>(places)));
    }
    for (const JsonView id : value.at("ids").members()) out.ids.emplace(id.key(), id_at(id));
    return out;
}

// {"none": 50363, "step": 0.02, "latest": 50}
TimestampTokens timestamps_at(JsonView value, const std::vector<int32_t> &ends) {
    value.allow_keys({"none", "step", "latest"});
    if (ends.empty()) value.fail("expected an end: timestamps come in pairs, or before it");
    TimestampTokens out{.none = static_cast<int32_t>(value.at("none").integer(0, INT32_MAX - 1)),
                        .step = value.at("step").number()};
    if (!(out.step >= 1e-4 && out.step <= 60)) value.at("step").fail("expected seconds, 0.0001 to 60");
    if (value.has("latest")) out.latest = id_at(value.at("latest"));
    return out;
}

} // namespace

OutputTokens read_tokens(JsonView value) {
    value.allow_keys({"start", "choices", "end", "suppress", "begin_suppress", "timestamps"});
    OutputTokens tokens;
    if (value.has("start"))
        for (const JsonView item : value.at("start").items()) {
            tokens.start.push_back(item.is_number() ? std::vector{id_at(item)} : ids_at(item));
            if (tokens.start.back().empty()) item.fail("expected an id, or several to choose from");
        }
    if (value.has("choices"))
        for (const JsonView choice : value.at("choices").members())
            tokens.choices.emplace(choice.key(), choice_at(choice, tokens.start.size()));
    if (value.has("end")) tokens.end = ids_at(value.at("end"));
    if (value.has("suppress")) tokens.suppress = ids_at(value.at("suppress"));
    if (value.has("begin_suppress")) tokens.begin_suppress = ids_at(value.at("begin_suppress"));
    if (value.has("timestamps")) tokens.timestamps = timestamps_at(value.at("timestamps"), tokens.end);
    return tokens;
}

OutputTokens named_tokens(JsonView generation, const TextCodec &target) {
    return {.start = {{token_at(generation.at("start"), target)}}, .end = {token_at(generation.at("end"), target)}};
}

Generation read_generation(JsonView value, const Model &model, const TextFiles &files) {
    value.allow_keys(
        {"encode",        "decode",     "source_ids",  "source_lengths", "source_samples", "source_patches",
         "sample_rate",   "window",     "normalize",   "norm_lengths",   "target_ids",     "target_lengths",
         "image_rows",    "image_mask", "image_ahead", "position",       "coordinates",    "logits",
         "probabilities", "start",      "end",         "max_length",     "context",        "sampling",
         "decoding",      "source",     "target",      "alignment"});
    Generation generation;
    const Graph &decode = graph_at(value.at("decode"), model);
    generation.decode = decode.name;
    generation.target_ids = input_at(value.at("target_ids"), decode, DType::i32, 2, "B T");
    generation.position = input_at(value.at("position"), decode, DType::i32, 1, "B");
    if (value.has("target_lengths"))
        generation.target_lengths = input_at(value.at("target_lengths"), decode, DType::i32, 1, "B");
    if (has_all(value, {"image_rows", "image_mask"})) read_image_inputs(value, decode, generation);
    for (const char *key : {"image_ahead", "coordinates"})
        if (!generation.sees() && value.has(key))
            value.at(key).fail("only a model that takes images, by \"image_rows\" and \"image_mask\", has it");
    read_scores(value, decode, generation);
    if (has_source(value)) read_encoder(value, decode, generation, model, files);
    std::vector<std::string> set{generation.target_ids, generation.position};
    if (generation.decode_takes_lengths) set.push_back(generation.source_lengths);
    if (generation.recurrent()) set.push_back(generation.target_lengths);
    if (generation.sees()) set.insert(set.end(), {generation.image_rows, generation.image_mask});
    if (generation.sees_ahead()) set.push_back(generation.image_ahead);
    if (!generation.coordinates.empty()) set.push_back(generation.coordinates);
    set.insert(set.end(), generation.encoded.begin(), generation.encoded.end());
    check_all_set(value, decode, set);
    if (value.has("alignment")) generation.alignment = read_alignment(value, generation, model);

    generation.target = codec_at(value.at("target"), files);
    generation.max_length = value.at("max_length").integer(1, longest_generation);
    if (value.has("context")) generation.context = value.at("context").integer(1, INT32_MAX);
    if (value.has("sampling")) generation.sampling = read_sampling(value.at("sampling"));
    if (value.has("decoding")) {
        expect_decoding_keys(value.at("decoding"));
        generation.decoding = read_decoding(value.at("decoding"));
    }
    return generation;
}

} // namespace lamina::model
