#include "architectures/speech_settings.hpp"

#include "architectures/architecture.hpp"
#include "architectures/speech_labels.hpp"

namespace lamina::architectures {
namespace {

namespace fs = std::filesystem;

constexpr int64_t highest_rate = 1000000;

void add_extractor(const Config &config, int64_t window_seconds, Json &out) {
    config.expect("feature_extractor_type", "Wav2Vec2FeatureExtractor");
    config.expect("feature_size", 1.0);
    const int64_t rate = config.integer("sampling_rate", 16000);
    if (rate < 6 || rate > highest_rate) config.fail("sampling_rate", "expected 6 to 1000000 samples per second");
    out["sample_rate"] = rate;
    out["window"] = window_seconds * rate;
    if (config.flag("do_normalize", true)) out["normalize"] = true;
    // About sequences of different lengths, each of which has the result here that it has alone.
    config.ignore({"padding_side", "padding_value", "return_attention_mask", "processor_class"});
    config.finish();
}

// Whether a file says how audio becomes samples.
bool read_extractor(const Draft &draft, Json &out) {
    const fs::path &folder = draft.folder;
    const int64_t window = draft.speech->window_seconds;
    if (const fs::path file = folder / "processor_config.json"; has_file(file)) {
        const JsonText text(text_of(file), file.string());
        if (const auto extractor = Config(text.root()).object("feature_extractor")) {
            add_extractor(*extractor, window, out);
            return true;
        }
    }
    const fs::path file = folder / "preprocessor_config.json";
    if (!has_file(file)) return false;
    const JsonText text(text_of(file), file.string());
    add_extractor(Config(text.root()), window, out);
    return true;
}

Json frames(const char *input, const SpeechInput::Frames &frames) {
    return {{"input", input}, {"width", frames.width}, {"step", frames.step}};
}

} // namespace

Json speech_block(const Draft &draft) {
    if (!draft.speech || draft.speech->characters == 0 || !has_file(draft.folder / "vocab.json")) return nullptr;
    Json out{{"graph", "encode"}, {"samples", "samples"}};
    if (!read_extractor(draft, out)) return nullptr;
    out["lengths"] = frames("lengths", draft.speech->lengths);
    if (draft.speech->norm_lengths) out["norm_lengths"] = frames("norm_lengths", *draft.speech->norm_lengths);
    out["logits"] = "logits";
    const SpeechLabels labels = read_speech_labels(draft.folder, draft.speech->characters);
    out["labels"] = labels.labels;
    out["blank"] = labels.blank;
    if (!labels.delimiter.empty()) out["delimiter"] = labels.delimiter;
    if (labels.space != " ") out["space"] = labels.space;
    if (labels.lowercase) out["lowercase"] = true;
    if (labels.clean_up) out["clean_up"] = true;
    return out;
}

bool add_audio_source(const Draft &draft, Json &generation) {
    if (!read_extractor(draft, generation)) return false;
    generation["source_samples"] = "samples";
    generation["source_lengths"] = frames("lengths", draft.speech->lengths);
    if (draft.speech->norm_lengths) generation["norm_lengths"] = frames("norm_lengths", *draft.speech->norm_lengths);
    return true;
}

} // namespace lamina::architectures
