#include "model/speech_block.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"
#include "model/graph_names.hpp"

#include <algorithm>

namespace lamina::model {
namespace {

// {"input": "lengths", "width": 400, "step": 320}
Frames frames_at(JsonView value, const Graph &graph, int64_t window) {
    value.allow_keys({"input", "width", "step"});
    return {.input = input_at(value.at("input"), graph, DType::i32, 1, "B"),
            .width = value.at("width").integer(1, window),
            .step = value.at("step").integer(1, window)};
}

void read_labels(JsonView value, Speech &out) {
    for (const JsonView label : value.at("labels").items()) out.labels.emplace_back(label.string());
    if (out.labels.empty()) value.at("labels").fail("expected at least one label");
    out.blank = value.at("blank").string();
    if (std::ranges::find(out.labels, out.blank) == out.labels.end())
        value.at("blank").fail("no label " + in_quotes(out.blank) + instead_of(out.blank, out.labels));
    if (value.has("delimiter")) out.delimiter = value.at("delimiter").string();
    if (value.has("space")) out.space = value.at("space").string();
    if (value.has("lowercase")) out.lowercase = value.at("lowercase").boolean();
    if (value.has("clean_up")) out.clean_up = value.at("clean_up").boolean();
}

} // namespace

AudioInput read_audio_in_frames(JsonView value, const Graph &graph, const char *samples, const char *lengths,
                                std::vector<std::string> &set) {
    AudioInput out{.samples = input_at(value.at(samples), graph, DType::f32, 3, "B N 1"),
                   .length = value.at("window").integer(6, longest_window), // cut in the last sixth
                   .rate = value.at("sample_rate").integer(1, highest_sample_rate)};
    AudioFrames &frames = out.frames.emplace();
    if (value.has("normalize")) frames.normalize = value.at("normalize").boolean();
    frames.lengths = frames_at(value.at(lengths), graph, out.length);
    set.insert(set.end(), {out.samples, frames.lengths.input});
    if (value.has("norm_lengths")) {
        frames.norm_lengths = frames_at(value.at("norm_lengths"), graph, out.length);
        set.push_back(frames.norm_lengths->input);
    }
    return out;
}

Speech read_speech(JsonView value, const Model &model) {
    value.allow_keys({"graph", "samples", "sample_rate", "window", "normalize", "lengths", "norm_lengths", "logits",
                      "labels", "blank", "delimiter", "space", "lowercase", "clean_up"});
    const Graph &graph = graph_at(value.at("graph"), model);
    Speech out;
    out.graph = graph.name;
    std::vector<std::string> set;
    out.audio = read_audio_in_frames(value, graph, "samples", "lengths", set);
    check_all_set(value, graph, set);
    out.logits = output_at(value.at("logits"), graph);
    read_labels(value, out);
    return out;
}

} // namespace lamina::model
