#include "bench_model.hpp"

#include "draft.hpp"
#include "interrupt.hpp"

#include "base/file.hpp"
#include "base/peak_memory.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>

namespace lamina::cli {
namespace {

constexpr size_t most_text = size_t{64} << 20; // bytes whose perplexity is measured: many hours of work

// The least time that the device needs for all layers up to the first token, and after it.
using Least = std::array<double, 2>;

Least find_least(const Runtime &runtime, const Model &model, const Device &device, SessionOptions session,
                 const DeviceLimits &limits, const Workload &work) {
    Least out{};
    bool answers = false;
    session.profile = [&](const GraphTimes &times) {
        for (const LayerTime &layer : times.layers) out[answers ? 1 : 0] += limits.least_seconds(layer);
    };
    Session reporting = runtime.session(model, device, session);
    (void)work.run(reporting, [&] { answers = true; });
    return out;
}

std::vector<Round> run_rounds(Session session, const std::string &name, const Workload &work, int64_t rounds,
                              Output &output) {
    (void)work.run(session); // the first is slower than the others
    std::vector<Round> out;
    for (int64_t i = 0; i < rounds; ++i) {
        stop_if_interrupted();
        output.progress(name, static_cast<size_t>(i), static_cast<size_t>(rounds));
        out.push_back(work.run(session));
    }
    output.clear_progress();
    return out;
}

using Value = std::function<double(const Round &)>;

Spread spread_over(const std::vector<Round> &rounds, const Value &value) {
    std::vector<double> values;
    for (const Round &r : rounds) values.push_back(value(r));
    return spread_of(std::move(values));
}

Entry rounded(double value) { return {Json(value), significant(value, 4)}; }

} // namespace

std::vector<ModelFigure> bench_model(const Runtime &runtime, const Model &model, const Device &device,
                                     const SessionOptions &session, const DeviceLimits *limits, const ModelBench &how,
                                     Output &output) {
    reset_peak_memory();
    const Workload work(model, how.work);
    const Least least = limits == nullptr ? Least{} : find_least(runtime, model, device, session, *limits, work);
    Session opened = runtime.session(model, device, session);
    use_draft(opened, how.draft, runtime, session);
    const std::vector<Round> rounds = run_rounds(opened, model.name(), work, how.rounds, output);

    std::vector<ModelFigure> out;
    const auto add = [&](const char *what, const char *unit, const Value &value, double share = 0) {
        out.push_back({model.name(), what, unit, spread_over(rounds, value), share});
    };
    const auto share_of = [&](double seconds, const Value &time) { return seconds / spread_over(rounds, time).median; };
    const Value all = [](const Round &r) { return r.all; };
    const double texts = work.texts(), tokens = work.tokens();
    switch (work.kind()) {
    case Workload::Kind::generates: {
        const Value first = [](const Round &r) { return r.first != 0 ? r.first : r.all; };
        const Value rest = [&](const Round &r) { return r.all - first(r); };
        add("texts at once", "", [&](const Round &) { return texts; });
        add("tokens in prompts", "", [&](const Round &) { return tokens; });
        add("tokens in answers", "", [](const Round &r) { return r.answer_tokens; });
        add("first token after", "s", first);
        add(
            "prompts", "tokens/s", [&](const Round &r) { return tokens / first(r); }, share_of(least[0], first));
        // An answer that ends with its first token has no speed.
        if (std::ranges::all_of(rounds, [&](const Round &r) { return r.answer_tokens > texts && rest(r) > 0; }))
            add(
                "answers", "tokens/s", [&](const Round &r) { return (r.answer_tokens - texts) / rest(r); },
                share_of(least[1], rest));
        if (!how.draft.empty()) {
            add("guesses of the draft", "", [](const Round &r) { return r.guessed; });
            add("right guesses", "", [](const Round &r) { return r.accepted; });
        }
        break;
    }
    case Workload::Kind::reads:
        add("texts at once", "", [&](const Round &) { return texts; });
        add("tokens in texts", "", [&](const Round &) { return tokens; });
        add(
            "texts", "texts/s", [&](const Round &r) { return texts / r.all; }, share_of(least[0], all));
        add("tokens", "tokens/s", [&](const Round &r) { return tokens / r.all; });
        break;
    case Workload::Kind::listens:
        add("length of the audio", "s", [&](const Round &) { return work.audio_seconds(); });
        add("tokens in transcripts", "", [](const Round &r) { return r.answer_tokens; });
        add(
            "audio", "s/s", [&](const Round &r) { return work.audio_seconds() / r.all; }, share_of(least[0], all));
        break;
    case Workload::Kind::sees:
        add("images at once", "", [&](const Round &) { return work.images(); });
        if (rounds.front().answer_tokens != 0)
            add("tokens in texts", "", [](const Round &r) { return r.answer_tokens; });
        add(
            "images", "images/s", [&](const Round &r) { return work.images() / r.all; }, share_of(least[0], all));
        break;
    case Workload::Kind::pages:
        add("pages at once", "", [&](const Round &) { return work.images(); });
        add(
            "pages", "pages/s", [&](const Round &r) { return work.images() / r.all; }, share_of(least[0], all));
        break;
    case Workload::Kind::runs:
        add("time of a run", "s", all, share_of(least[0], all));
        break;
    }
    out.push_back({model.name(), "peak memory of the process", "MiB",
                   spread_of({static_cast<double>(peak_memory()) / (1 << 20)}), 0});
    return out;
}

std::vector<ModelFigure> bench_perplexity(const Runtime &runtime, const Model &model, const Device &device,
                                          const SessionOptions &session, const ModelBench &how, Output &output) {
    const std::vector<std::byte> bytes = read_file(how.perplexity, most_text);
    const std::string text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    PerplexityOptions options;
    options.window = static_cast<size_t>(how.window);
    options.progress = [&](size_t done, size_t all) {
        stop_if_interrupted();
        output.progress(model.name(), done, all);
    };
    Session opened = runtime.session(model, device, session);
    const auto began = std::chrono::steady_clock::now();
    const Perplexity found = measure_perplexity(opened, text, options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    output.clear_progress();
    std::vector<ModelFigure> out;
    const auto add = [&](const char *what, const char *unit, double value) {
        out.push_back({model.name(), what, unit, spread_of({value}), 0});
    };
    add("perplexity", "", found.value);
    add("its standard error", "", found.error);
    add("tokens that count", "", static_cast<double>(found.tokens));
    add("speed", "tokens/s", static_cast<double>(found.tokens) / seconds.count());
    return out;
}

Sheet model_sheet(const std::vector<ModelFigure> &figures, const std::vector<ModelFigure> &beside,
                  const std::string &beside_id) {
    std::vector<Sheet::Heading> columns{{"model", "MODEL"},
                                        {"figure", "FIGURE"},
                                        {"median", "MEDIAN", Align::right},
                                        {"unit", "UNIT"},
                                        {"low", "LOW", Align::right},
                                        {"high", "HIGH", Align::right},
                                        {"rounds", "ROUNDS", Align::right},
                                        {"share_of_limit", "OF LIMIT", Align::right}};
    if (!beside_id.empty()) columns.push_back({"beside", beside_id, Align::right});
    Sheet sheet(columns);
    for (const ModelFigure &f : figures) {
        std::vector<Entry> row{f.model, f.what, rounded(f.value.median), f.unit, rounded(f.value.low)};
        row.push_back(rounded(f.value.high));
        row.emplace_back(Json(f.value.runs), std::to_string(f.value.runs));
        row.push_back(f.share_of_limit == 0 ? Entry::none()
                                            : Entry(Json(f.share_of_limit), significant(f.share_of_limit, 2)));
        if (!beside_id.empty()) {
            const auto same = std::ranges::find_if(
                beside, [&](const ModelFigure &other) { return other.model == f.model && other.what == f.what; });
            row.push_back(same == beside.end() ? Entry::none() : rounded(same->value.median));
        }
        sheet.row(std::move(row));
    }
    return sheet;
}

} // namespace lamina::cli
