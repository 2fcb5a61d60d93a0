#include "workload.hpp"

#include "image_run.hpp"
#include "model_arguments.hpp"
#include "page_run.hpp"

#include <lamina/audio.hpp>
#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

#include <algorithm>
#include <array>
#include <chrono>

namespace lamina::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

std::string made_up_text(size_t words, std::string_view between) {
    constexpr std::array<std::string_view, 12> all{"the", "quick", "brown", "fox", "jumps", "over",
                                                   "a",   "lazy",  "dog",   "and", "runs",  "away"};
    std::string out;
    for (size_t i = 0; i < words; ++i) {
        if (i != 0) out += between;
        out += all[i % all.size()];
    }
    return out;
}

// The longest text of at most `most` tokens, but at least one word, that the model accepts: words, or letters alone for
// a model that knows no blanks.
std::string text_of_length(const Model &model, size_t most) {
    std::string why, out;
    for (const std::string_view between : {" ", ""}) {
        const auto fits = [&](size_t words) {
            const TextIds found = tokenize(model, {made_up_text(words, between)});
            if (found.refused) why = found.refused->why;
            return !found.refused && (words == 1 || found.ids.front().size() <= most);
        };
        if (!fits(1)) continue;
        size_t good = 1, bad = 2;
        while (bad <= most && fits(bad)) good = bad, bad *= 2;
        while (bad - good > 1) {
            const size_t middle = good + (bad - good) / 2;
            (fits(middle) ? good : bad) = middle;
        }
        if (std::string text = made_up_text(good, between); text.size() > out.size()) out = std::move(text);
        if (good > 1) break;
    }
    if (out.empty())
        throw Error(ErrorCode::input, model.folder().string() + ": the model takes no text for measuring: " + why);
    return out;
}

size_t tokens_of(const std::vector<std::vector<Hypothesis>> &answers) {
    size_t sum = 0;
    for (const auto &each : answers) sum += each.empty() ? 0 : each.front().tokens.size();
    return sum;
}

std::vector<Audio> audio_of(const std::vector<std::string> &files, const Model &model) {
    if (files.empty())
        throw Error(ErrorCode::usage, model.folder().string() + " takes audio, and no audio file is given");
    std::vector<Audio> out;
    for (const std::string &file : files) out.push_back(read_audio(file));
    return out;
}

} // namespace

Workload::Workload(Model model, const WorkloadOptions &options) : answer_(options.tokens) {
    const ModelContents contents = inspect(model);
    if (!options.inputs.empty())
        run_graph(model, options);
    else if (contents.audio())
        transcribe_files(model, options.texts);
    else if (are_images(options.texts, contents))
        see_images(model, options);
    else if (contents.pages)
        read_pages(model, options);
    else if (contents.generation || contents.reading)
        take_texts(model, options);
    else
        throw Error(ErrorCode::usage, model.folder().string() +
                                          " takes neither texts nor images nor audio nor pages: give it tensors, with "
                                          "--input");
}

void Workload::run_graph(const Model &model, const WorkloadOptions &options) {
    kind_ = Kind::runs;
    work_ = [graph = graph_name(options.graph, inspect(model)), inputs = input_tensors(options.inputs)](
                Session &session, const GenerateOptions &, Round &) { (void)session.run(graph, inputs); };
}

void Workload::transcribe_files(const Model &model, const std::vector<std::string> &files) {
    kind_ = Kind::listens;
    const std::vector<Audio> audios = audio_of(files, model);
    files_ = audios.size();
    for (const Audio &a : audios) audio_seconds_ += static_cast<double>(a.samples.size()) / static_cast<double>(a.rate);
    work_ = [audios](Session &session, GenerateOptions how, Round &round) {
        how.max_length = 0; // as much as is spoken
        how.stream = nullptr;
        if (audios.size() == 1) how.batch = 1; // as in `lamina run`, which shows a single transcript as it grows
        for (const Transcript &t : transcribe(session, audios, how))
            for (const Transcript::Part &part : t.parts)
                round.answer_tokens += static_cast<double>(part.hypothesis.tokens.size());
    };
}

// As large as a small photo.
Image made_up_image() {
    Image out{640, 480, {}};
    for (int64_t y = 0; y < out.height; ++y)
        for (int64_t x = 0; x < out.width; ++x)
            for (const int64_t colour : {x, y, x * y}) out.pixels.push_back(static_cast<uint8_t>(colour % 256));
    return out;
}

void Workload::see_images(const Model &model, const WorkloadOptions &options) {
    kind_ = Kind::sees;
    const std::vector<Image> images = options.texts.empty()
                                          ? std::vector(static_cast<size_t>(options.batch), made_up_image())
                                          : read_images(options.texts);
    images_ = images.size();
    work_ = [images, gives = inspect(model).images->gives](Session &session, GenerateOptions how, Round &round) {
        const ImageOptions at_once{.batch = images.size()};
        how.batch = images.size(), how.stream = nullptr; // with the beams of the model, as `lamina run` has them
        if (gives == ImageReading::Gives::embedding) (void)embed_images(session, images, at_once);
        if (gives == ImageReading::Gives::classes) (void)classify_images(session, images, at_once);
        if (gives == ImageReading::Gives::texts)
            round.answer_tokens += static_cast<double>(tokens_of(generate_from_images(session, images, how)));
    };
}

// Words in lines over the whole page.
Page made_up_page(int64_t words) {
    Page out{{}, made_up_image()};
    for (int64_t i = 0; i < words; ++i) {
        const auto x = static_cast<int32_t>(i % 10 * 100), y = static_cast<int32_t>(i / 10 * 20 % 1000);
        out.words.push_back({"word", {x, y, x + 80, y + 15}});
    }
    return out;
}

void Workload::read_pages(const Model &model, const WorkloadOptions &options) {
    kind_ = Kind::pages;
    const PageReading reading = *inspect(model).pages;
    std::vector<Page> pages;
    for (const std::string &file : options.texts) pages.push_back(page_of(file, words_beside(file), reading));
    if (pages.empty()) pages.assign(static_cast<size_t>(options.batch), made_up_page(options.prompt_tokens));
    images_ = pages.size();
    work_ = [pages, gives = reading.gives](Session &session, const GenerateOptions &, Round &) {
        const PageOptions how{.batch = pages.size(), .truncate = true};
        if (gives == TextReading::Gives::classes) (void)classify_pages(session, pages, how);
        if (gives == TextReading::Gives::token_classes) (void)label_words(session, pages, how);
        if (gives != TextReading::Gives::answers) return;
        std::vector<PageQuestion> questions;
        for (size_t i = 0; i < pages.size(); ++i) questions.push_back({i, "word word?"});
        (void)answer_pages(session, pages, questions, how);
    };
}

// Each text with itself.
std::vector<TextPair> twice(const std::vector<std::string> &texts) {
    std::vector<TextPair> pairs;
    for (const std::string &text : texts) pairs.push_back({text, text});
    return pairs;
}

void Workload::take_texts(const Model &model, const WorkloadOptions &options) {
    texts_ = options.texts;
    if (texts_.empty())
        texts_.assign(static_cast<size_t>(options.batch),
                      text_of_length(model, static_cast<size_t>(options.prompt_tokens)));
    const std::optional<TextReading> reading = inspect(model).reading;
    if (reading && reading->gives == TextReading::Gives::words)
        for (std::string &text : texts_)
            if (text.find(reading->mask) == std::string::npos) text += " " + reading->mask;
    const TextIds ids = tokenize(model, texts_);
    if (ids.refused) throw Error(ErrorCode::input, "'" + texts_[ids.refused->text] + "': " + ids.refused->why);
    for (const auto &each : ids.ids) tokens_ += static_cast<double>(each.size());
    if (!reading) {
        work_ = [texts = texts_](Session &session, const GenerateOptions &how, Round &round) {
            const auto found = session.hypotheses(texts, how);
            round.answer_tokens = static_cast<double>(tokens_of(found));
            for (const auto &each : found)
                for (const Hypothesis &answer : each) {
                    round.guessed += static_cast<double>(answer.guessed);
                    round.accepted += static_cast<double>(answer.accepted);
                }
        };
        return;
    }
    kind_ = Kind::reads;
    work_ = [texts = texts_, gives = reading->gives, pairs = reading->pairs](Session &session, const GenerateOptions &,
                                                                             Round &) {
        ReadOptions how;
        how.batch = texts.size();
        if (gives == TextReading::Gives::embedding) (void)embed(session, texts, how);
        if (gives == TextReading::Gives::token_vectors) (void)embed_tokens(session, texts, how);
        if (gives == TextReading::Gives::classes)
            (void)(pairs ? classify_pairs(session, twice(texts), how) : classify(session, texts, how));
        if (gives == TextReading::Gives::token_classes) (void)label_tokens(session, texts, how);
        if (gives == TextReading::Gives::answers) (void)answer(session, twice(texts), {.batch = texts.size()});
        if (gives == TextReading::Gives::words) (void)fill_masks(session, texts, {.batch = texts.size()});
    };
}

Round Workload::run(Session &session, const std::function<void()> &first_token) const {
    Round round;
    GenerateOptions how;
    if (kind_ == Kind::generates) how.batch = texts_.size();
    how.max_length = answer_;
    const auto began = Clock::now();
    how.stream = [&](size_t, std::string_view) {
        if (round.first != 0) return;
        round.first = seconds_since(began);
        if (first_token) first_token();
    };
    work_(session, how, round);
    round.all = seconds_since(began);
    return round;
}

void add_workload_options(const Arguments &app, WorkloadOptions &options) {
    app.option("-i,--input", options.inputs, "NAME=FILE.npy",
               "run a graph of the model on this tensor instead; may be repeated");
    app.option("--graph", options.graph, "NAME", "graph to run on --input; default: the only one").not_empty();
    app.option("--prompt-tokens", options.prompt_tokens, "N", "length of the text that the model is given, at most")
        .within(int64_t{1}, int64_t{1'000'000})
        .shows_default();
    app.option("--tokens", options.tokens, "N", "length of the answer, unless the model ends it before")
        .within(int64_t{2}, int64_t{1'000'000})
        .shows_default();
    app.option("--batch", options.batch, "N", "how many texts or images at once")
        .within(int64_t{1}, int64_t{65536})
        .shows_default();
}

void check_workload_usage(const Arguments &app, const WorkloadOptions &options, const Model &model) {
    if (!options.inputs.empty() && !options.texts.empty())
        throw Error(ErrorCode::usage, "a text and --input cannot be used together: give words or tensors");
    if (options.inputs.empty() && !options.graph.empty())
        throw Error(ErrorCode::usage, "--graph needs --input NAME=FILE.npy");
    if (!options.inputs.empty())
        refuse_given(app, {"--prompt-tokens", "--tokens", "--batch"}, "is about texts: it cannot be used with --input");
    if (!options.texts.empty())
        refuse_given(app, {"--prompt-tokens", "--batch"}, "is about a text that Lamina makes up, and a text is given");
    const ModelContents contents = inspect(model);
    refuse_cache(app, contents);
    if (!contents.generation || contents.audio())
        refuse_given(app, {"--tokens"}, "is about answers to texts, which this model does not give");
}

} // namespace lamina::cli
