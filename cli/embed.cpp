// lamina embed: the vectors of all lines of a file.
#include "command.hpp"
#include "corpus.hpp"
#include "model_arguments.hpp"
#include "partial_vectors.hpp"
#include "vectors.hpp"

#include <lamina/inspect.hpp>
#include <lamina/texts.hpp>

#include <cmath>
#include <memory>
#include <optional>

namespace lamina::cli {
namespace {

struct EmbedOptions {
    std::filesystem::path model, texts, output;
    std::string field, prompt;
    int64_t batch = 32;
    bool truncate = false, windows = false, force = false;
    SessionArguments session;
};

// What the vectors depend on besides the texts.
PartialVectors::Settings settings_of(const EmbedOptions &options, const Model &model, const ReadOptions &reading) {
    const char *too_long = options.windows ? "windows" : options.truncate ? "yes" : "no";
    return {{"model", std::filesystem::weakly_canonical(inspect(model).folder).string()},
            {"prompt", reading.prompt.value_or("(default)")},
            {"truncate", too_long},
            {"precision", options.session.precision}};
}

// Passes over the lines that the vectors are of that are there. Returns why they are not; empty: they are.
std::string pass_done(PartialVectors &part, Corpus &corpus, Session &session, const ReadOptions &reading,
                      const std::filesystem::path &file) {
    if (!part.why_not().empty()) return part.why_not();
    constexpr size_t at_once = 1024;
    uint64_t hash = PartialVectors::no_texts;
    std::string first;
    for (size_t done = 0; done < part.rows();) {
        const std::vector<std::string> texts = corpus.next(std::min(at_once, part.rows() - done));
        if (texts.empty()) return file.string() + " has only " + std::to_string(done) + " lines";
        if (done == 0) first = texts.front();
        for (const std::string &text : texts) hash = PartialVectors::hash_with(hash, text);
        done += texts.size();
        stop_if_interrupted();
    }
    if (hash != part.texts())
        return "the first " + std::to_string(part.rows()) + " lines of " + file.string() + " are not those it is of";
    if (part.rows() == 0) return "";
    const std::vector<float> known = part.first_row();
    const double alike = cosine(known, cli::row_of(embed(session, {first}, reading), 0));
    const bool same = std::isnan(alike) || alike > 0.999; // devices round differently; NaN: a vector of zeros
    return same ? "" : "the model gives another vector of line 1 now";
}

void add_vectors(PartialVectors &part, Corpus &corpus, const Model &model, Session &session, ReadOptions reading,
                 size_t all, Output &output) {
    constexpr size_t batches = 32; // texts of similar length are read together, among so many batches
    reading.progress = [&](size_t done, size_t) {
        stop_if_interrupted();
        output.progress("lines", part.rows() + done, all);
    };
    const size_t many = reading.batch * batches;
    for (auto texts = corpus.next(many); !texts.empty(); texts = corpus.next(many)) {
        ReadOptions any_length = reading;
        any_length.truncate = reading.truncate || reading.windows;
        if (const auto refused = tokenize(model, texts, any_length).refused) corpus.refuse(refused->text, refused->why);
        uint64_t hash = part.texts();
        for (const std::string &text : texts) hash = PartialVectors::hash_with(hash, text);
        part.append(embed(session, texts, reading), hash);
    }
}

int embed_lines(const EmbedOptions &options, const GlobalOptions &global, const Arguments &app, Output &output) {
    check_output_file(options.output, "--output", ".npy");
    std::error_code ignored;
    if (std::filesystem::is_directory(options.output, ignored))
        throw Error(ErrorCode::usage, "--output " + options.output.string() + ": expected a file, found a folder");
    if (!options.force && std::filesystem::exists(options.output, ignored))
        throw Error(ErrorCode::usage, options.output.string() + " is there already; --force replaces it");
    auto corpus = std::make_unique<Corpus>(options.texts, options.field);
    const Runtime runtime(global.runtime(output));
    const Model model = runtime.load(options.model);
    const Device device = chosen_device(runtime, global, output);
    Session session = runtime.session(model, device, session_options(options.session, runtime, device));
    ReadOptions reading{.batch = static_cast<size_t>(options.batch), .truncate = options.truncate};
    reading.windows = options.windows;
    if (options.truncate) refuse_given(app, {"--windows"}, "cannot be used with --truncate");
    reading.prompt = prompt_for(inspect(model), app.is_given("--prompt") ? std::optional(options.prompt) : std::nullopt,
                                {"document", "passage", "corpus"});
    const auto width = static_cast<size_t>(embed(session, {}, reading).shape().back());

    PartialVectors part(options.output, settings_of(options, model, reading), width);
    if (const std::string why = pass_done(part, *corpus, session, reading, options.texts); !why.empty()) {
        if (!options.force || options.texts == "-")
            throw Error(ErrorCode::usage, part.path().string() +
                                              ", which an earlier run has left, is of other vectors: " + why +
                                              "; remove it to begin anew");
        part.restart();
        corpus = std::make_unique<Corpus>(options.texts, options.field);
    }
    const size_t resumed = part.rows();
    if (resumed > 0) output.note("going on after line " + std::to_string(resumed) + ", where an earlier run ended");
    add_vectors(part, *corpus, model, session, reading, corpus->count_lines(), output);
    output.clear_progress();
    if (part.rows() == 0)
        throw Error(ErrorCode::input, options.texts.string() + ": expected a text on each line, found none");
    part.finish();
    if (output.json())
        output.print_json(
            {{"file", options.output.string()}, {"vectors", part.rows()}, {"width", width}, {"resumed", resumed}});
    else
        output.print(options.output.string() + ": " + std::to_string(part.rows()) + " x " + std::to_string(width) +
                     "\n");
    return 0;
}

} // namespace

Command add_embed(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("embed", "Write the vectors of all lines of a file, as NumPy reads them.");
    app.footer(
        "Row N of the output is the vector of line N. A run that is interrupted can be repeated: it goes on where "
        "it ended. lamina search finds lines by their vectors.\n"
        "Examples: lamina embed all-MiniLM-L6-v2 texts.jsonl -o vectors.npy\n"
        "          zcat texts.gz | lamina embed all-MiniLM-L6-v2 - -o vectors.npy");
    auto options = std::make_shared<EmbedOptions>();
    app.positional("MODEL", options->model, "a model that turns texts into vectors").required();
    app.positional("FILE", options->texts,
                   "one text a line; .jsonl and .ndjson: JSON with a field that holds it; -: stdin")
        .required();
    app.option("-o,--output", options->output, "FILE", "a .npy file for the vectors").required();
    app.option("--field", options->field, "NAME",
               "lines are JSON, and this field holds the text; default for .jsonl: text")
        .not_empty();
    app.option("--prompt", options->prompt, "NAME",
               "the prompt of the model that is put before texts; default: document, if it has one of this name; '': "
               "none");
    app.flag("--truncate", options->truncate, "cut texts that are too long for the model");
    app.flag("--windows", options->windows,
             "read texts that are too long in windows; the vector is the mean of theirs, weighted by their tokens");
    app.option("--batch", options->batch, "N", "the most texts to read at once")
        .shows_default()
        .within(int64_t{1}, int64_t{4096});
    app.flag("--force", options->force, "replace the output, and what an earlier run with other texts has left of it");
    add_session_options(app, options->session);
    return {app, [options, &global, app](Output &output) { return embed_lines(*options, global, app, output); }};
}

} // namespace lamina::cli
