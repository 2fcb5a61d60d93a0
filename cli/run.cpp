// lamina run: a model on texts, or one of its graphs on tensors.
#include "audio_run.hpp"
#include "command.hpp"
#include "draft.hpp"
#include "generate_options.hpp"
#include "image_run.hpp"
#include "image_text_run.hpp"
#include "interrupt.hpp"
#include "load_arguments.hpp"
#include "model_arguments.hpp"
#include "page_run.hpp"
#include "reading_run.hpp"
#include "table.hpp"
#include "taps.hpp"
#include "tensor_run.hpp"
#include "text_run.hpp"

#include "base/nearest.hpp"
#include "base/standard_streams.hpp"

#include <lamina/inspect.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lamina::cli {
namespace {

struct RunOptions {
    std::filesystem::path model;
    std::vector<std::string> texts;
    TensorArguments tensors;
    std::string language, source_language, task, timestamps, subtitles, on_error = "stop";
    SessionArguments session;
    LoadArguments load;
    std::filesystem::path draft;
    GenerateOptions generate;
    std::optional<int64_t> likeliest;
    GrammarArguments grammar;
    bool truncate = false, pairs = false, multi_label = false, listen = false;
    std::string prompt, labels, sentence;
    std::vector<std::string> images;           // of a prompt
    std::vector<std::string> words, questions; // of pages
    size_t answers = 0;                        // to a question, or words for a mask; 0: as many as usual
};

// What is only about generating text.
std::vector<std::string> generate_options() {
    std::vector<std::string> out{
        "--listen",     "--skip-silence", "--timestamps", "--subtitles",     "--image",          "--batch",
        "--beams",      "--hypotheses",   "--likeliest",  "--prompt-scores", "--length-penalty", "--seed",
        "--max-length", "--min-length",   "--ignore-end", "--stop",          "--cache",          "--language",
        "--task",       "--json-schema",  "--grammar",    "--regex",         "--draft",          "--source-language"};
    for (const SamplingOption &option : sampling_options) out.push_back(option_name(option));
    return out;
}

// ---- Vectors and classes ----

std::vector<TextPair> pairs_of(const std::vector<std::string> &texts) {
    if (texts.size() % 2 != 0)
        throw Error(ErrorCode::usage,
                    "--pairs: expected an even number of texts, found " + std::to_string(texts.size()));
    std::vector<TextPair> out;
    for (size_t i = 0; i < texts.size(); i += 2) out.push_back({texts[i], texts[i + 1]});
    return out;
}

// "a cat, a dog"
std::vector<std::string> labels_of(const std::string &list) {
    std::vector<std::string> out;
    for (size_t at = 0; at <= list.size();) {
        const size_t end = std::min(list.find(',', at), list.size());
        const std::string_view label = std::string_view(list).substr(at, end - at);
        const size_t first = label.find_first_not_of(' '), last = label.find_last_not_of(' ');
        if (first == std::string_view::npos)
            throw Error(ErrorCode::usage, "--labels: expected labels with commas between them, found '" + list + "'");
        out.emplace_back(label.substr(first, last - first + 1));
        at = end + 1;
    }
    return out;
}

int read_texts(const RunOptions &options, const ReadOptions &how, const Model &model, Session session, LineReader lines,
               Output &output) {
    const std::string vectors = inspect(model).reading->output;
    ReadingRun run(model, std::move(session), output, how);
    std::vector<Destination> files;
    for (const auto &[name, file] : files_of(options.tensors, {vectors})) {
        if (name != vectors)
            throw Error(ErrorCode::usage,
                        "--output " + name + ": texts give only '" + vectors + "'; --tap shows other tensors");
        files.push_back({name, file});
    }
    if (!options.tensors.output_folder.empty()) make_output_folder(options.tensors.output_folder);
    run.write_to(std::move(files));
    if (options.answers != 0) run.show_answers(options.answers);
    if (!options.labels.empty()) {
        MatchOptions match{.multi_label = options.multi_label};
        if (!options.sentence.empty()) match.sentence = options.sentence;
        run.match(labels_of(options.labels), match);
    }
    if (options.texts.empty()) return run.lines(std::move(lines), options.pairs);
    options.pairs ? run.pairs(pairs_of(options.texts)) : run.texts(options.texts);
    return 0;
}

// ---- Images ----

int run_images(const RunOptions &options, const Model &model, Session session, LineReader lines, Output &output) {
    const ImageReading images = *inspect(model).images;
    ImageRun run(model, std::move(session), output);
    if (!options.labels.empty())
        run.match(labels_of(options.labels), options.sentence.empty() ? ImageOptions().sentence : options.sentence);
    std::vector<Destination> files;
    const bool vectors = options.labels.empty() && images.gives == ImageReading::Gives::embedding;
    for (const auto &[name, file] :
         files_of(options.tensors, vectors ? std::vector{images.output} : std::vector<std::string>{})) {
        if (name != images.output || !vectors)
            throw Error(ErrorCode::usage, "--output and --output-dir need a model that gives vectors of images; --json "
                                          "prints all classes");
        files.push_back({name, file});
    }
    if (!options.tensors.output_folder.empty()) make_output_folder(options.tensors.output_folder);
    run.write_to(std::move(files));
    if (options.texts.empty()) return run.lines(std::move(lines));
    run.arguments(options.texts, images.matches_texts && options.labels.empty());
    return 0;
}

size_t expected_answers(size_t answers) {
    if (answers == 0) throw Error(ErrorCode::usage, "--answers: expected at least 1, found 0");
    return answers;
}

// ---- Pages ----

int run_pages(const RunOptions &options, const Arguments &app, const Model &model, Session session, LineReader lines,
              Output &output) {
    refuse_given(app, generate_options(), "is about generating text, which this model does not do");
    refuse_given(app, {"--pairs", "--prompt", "--labels", "--sentence", "--multi-label", "--output", "--output-dir"},
                 "is about texts and images, and this model reads pages");
    const TextReading::Gives gives = inspect(model).pages->gives;
    if (gives != TextReading::Gives::classes)
        refuse_given(app, {"--truncate"}, "is about classes of pages, which this model does not give");
    const bool answers = gives == TextReading::Gives::answers;
    if (!answers) refuse_given(app, {"--question", "--answers"}, "is about answers, which this model does not give");
    if (answers && options.questions.empty())
        throw Error(ErrorCode::usage, "this model finds answers on pages: expected --question TEXT");
    if (options.texts.empty()) refuse_given(app, {"--words"}, "needs the names of pages as arguments");
    PageOptions how{.truncate = options.truncate};
    if (app.is_given("--answers")) how.best = expected_answers(options.answers);
    PageRun run(model, std::move(session), output, how);
    run.ask(options.questions);
    if (options.texts.empty()) return run.lines(std::move(lines));
    run.files(options.texts, options.words);
    return 0;
}

// ---- Audio ----

const std::vector<std::pair<std::string, Timestamps>> timestamps_named{
    {"segments", Timestamps::segments}, {"words", Timestamps::words}, {"characters", Timestamps::characters}};

int run_audio(const RunOptions &options, GenerateOptions generate, const AudioFormat &audio, Session session,
              LineReader lines, Output &output) {
    for (const auto &[name, which] : timestamps_named)
        if (options.timestamps == name) generate.timestamps = which;
    // Subtitles are of segments, where the model tells them.
    if (!options.subtitles.empty() && options.timestamps.empty() && audio.tells(Timestamps::segments))
        generate.timestamps = Timestamps::segments;
    if (!options.subtitles.empty() && (options.texts.size() != 1 || output.json()))
        throw Error(ErrorCode::usage, "--subtitles: expected one audio file, and no --json");
    if (options.listen && (!options.texts.empty() || !options.subtitles.empty()))
        throw Error(ErrorCode::usage,
                    "--listen: reads stdin, and prints lines or JSON: leave out files and --subtitles");
    AudioRun files(audio, std::move(session), output, generate);
    if (options.listen) {
        files.listen();
        return 0;
    }
    if (!options.subtitles.empty()) files.show_as(options.subtitles == "srt" ? Subtitles::srt : Subtitles::vtt);
    if (options.texts.empty()) return files.lines(std::move(lines));
    files.files(options.texts);
    return 0;
}

// ---- The command ----

void check_usage(const RunOptions &options, const Arguments &app, bool json) {
    if (!options.tensors.inputs.empty() && !options.texts.empty())
        throw Error(ErrorCode::usage, "TEXT and --input cannot be used together: give words or tensors");
    if (options.tensors.inputs.empty() && !options.tensors.graph.empty())
        throw Error(ErrorCode::usage, "--graph needs --input NAME=FILE.npy");
    if (!options.tensors.taps.empty() && options.tensors.inputs.empty() && options.texts.empty())
        throw Error(ErrorCode::usage, "--tap needs TEXT or --input, because it shows a single run");
    if (options.tensors.inputs.empty() && options.texts.empty() && is_terminal(standard_input))
        throw Error(ErrorCode::usage, "nothing to run on: give words, lines on stdin, or --input NAME=FILE.npy");

    if (!options.tensors.inputs.empty() || !options.texts.empty())
        refuse_given(app, {"--on-error"}, "is about lines on stdin: it cannot be used with TEXT or --input");
    const GenerateOptions &g = options.generate;
    if (!options.tensors.inputs.empty() || !options.tensors.taps.empty())
        refuse_given(app, generate_options(), "is about generating text: it cannot be used with --input or --tap");
    check_answer_options(app, g);
    if (!json) refuse_given(app, {"--hypotheses"}, "needs --json, which shows more than the best one");
    if (!json) refuse_given(app, {"--likeliest"}, "needs --json, which shows how likely tokens were");
    if (!options.likeliest) refuse_given(app, {"--prompt-scores"}, "needs --likeliest");
    if (const int64_t beams = g.beams.value_or(1); g.hypotheses > beams)
        throw Error(ErrorCode::usage, "--hypotheses " + std::to_string(g.hypotheses) +
                                          ": expected at most as many as --beams, " + std::to_string(beams));
}

int run(const RunOptions &options, const Arguments &app, const GlobalOptions &global, Output &output) {
    check_usage(options, app, output.json());
    const Runtime runtime(global.runtime(output));
    const Model model = runtime.load(options.model, load_options(options.load));
    const Device device = chosen_device(runtime, global, output);
    SessionOptions how = session_options(options.session, runtime, device);
    if (!options.tensors.inputs.empty()) {
        run_tensors(options.tensors, runtime, model, device, how, output);
        return 0;
    }
    if (!options.tensors.taps.empty()) {
        how.keep_all = true;
        tap_texts(options.tensors, options.texts, model, runtime.session(model, device, how), output);
        return 0;
    }
    const LineReader lines(standard_input, options.on_error == "skip" ? OnError::skip : OnError::stop);
    const ModelContents contents = inspect(model);
    if (!options.images.empty()) expect_image_prompts(model);
    if (contents.pages) return run_pages(options, app, model, runtime.session(model, device, how), lines, output);
    refuse_given(app, {"--words", "--question"}, "is about pages, which this model does not read");
    const bool writes_of_images = contents.images && contents.images->gives == ImageReading::Gives::texts;
    if (!writes_of_images && (are_images(options.texts, contents) || (contents.images && !options.labels.empty()))) {
        refuse_given(app, generate_options(), "is about generating text, which this model does not do");
        refuse_given(app, {"--truncate", "--prompt", "--pairs", "--answers", "--multi-label"},
                     "is about vectors and classes of texts, and images are given");
        if (!options.labels.empty() && !contents.images->matches_texts)
            throw Error(ErrorCode::usage, "--labels: this model does not compare images with texts");
        return run_images(options, model, runtime.session(model, device, how), lines, output);
    }
    if (!contents.reading || contents.reading->gives != TextReading::Gives::classes)
        refuse_given(app, {"--labels", "--sentence", "--multi-label"},
                     "is about images and classes of texts, which this model does not give");
    if (options.labels.empty())
        refuse_given(app, {"--sentence", "--multi-label"}, "is about --labels, and none are given");
    else
        refuse_given(app, {"--pairs", "--prompt"}, "cannot be used with --labels");
    if (contents.reading || contents.writes_of_texts()) refuse_media(options.texts);
    if (contents.reading) {
        refuse_given(app, generate_options(), "is about generating text, which this model does not do");
        const TextReading::Gives gives = contents.reading->gives;
        if (gives == TextReading::Gives::answers)
            refuse_given(app, {"--truncate", "--prompt"}, "is not about answers to questions, which this model gives");
        else if (gives == TextReading::Gives::words)
            refuse_given(app, {"--truncate", "--prompt", "--pairs"},
                         "is not about missing words, which this model finds");
        else
            refuse_given(app, {"--answers"}, "is about answers and missing words, which this model does not give");
        if (app.is_given("--answers")) (void)expected_answers(options.answers);
        ReadOptions reading{.truncate = options.truncate};
        if (app.is_given("--prompt")) reading.prompt = options.prompt;
        return read_texts(options, reading, model, runtime.session(model, device, how), lines, output);
    }
    refuse_given(app, {"--pairs", "--prompt", "--answers"},
                 "is about vectors and classes of texts, which this model does not give");
    if (!options.tensors.outputs.empty() || !options.tensors.output_folder.empty())
        throw Error(ErrorCode::usage, "--output and --output-dir need --input NAME=FILE.npy, or a model that "
                                      "turns texts into vectors");
    refuse_given(app, {"--truncate"}, "is for models that turn texts into vectors or classes");
    GenerateOptions generate = options.generate;
    generate.grammar = grammar_of(options.grammar);
    if (options.likeliest) generate.likeliest = static_cast<size_t>(*options.likeliest);
    for (const auto &[name, chosen] : {std::pair{"language", options.language},
                                       {"source_language", options.source_language},
                                       {"task", options.task}})
        if (!chosen.empty()) generate.choices[name] = chosen;
    const std::optional<TextGeneration> &generation = contents.generation;
    if (generation && !generate.beams) generate.beams = generation->beams, generate.beams_compete = true;
    if (generate.beams == 1 && !output.json())
        refuse_given(app, {"--length-penalty"}, "ranks several hypotheses: it needs --beams or --json");
    if (generation && !generation->encode.empty())
        refuse_given(app, {"--guess-ahead"}, "needs a model that continues texts, which this one does not");
    if (const std::optional<AudioFormat> audio = contents.audio()) {
        refuse_given(app,
                     {"--hypotheses", "--likeliest", "--prompt-scores", "--stop", "--json-schema", "--grammar",
                      "--regex", "--draft"},
                     "does not apply to audio");
        return run_audio(options, generate, *audio, runtime.session(model, device, how), lines, output);
    }
    refuse_given(app, {"--listen", "--skip-silence", "--timestamps", "--subtitles"},
                 "is about audio, which this model does not take");
    if (writes_of_images) {
        refuse_given(app, {"--prompt-scores", "--draft"},
                     "needs a model that continues texts, which this one does not");
        ImageTextRun images(runtime.session(model, device, how), output, generate);
        return options.texts.empty() ? images.lines(lines) : images.files(options.texts);
    }
    Session session = runtime.session(model, device, how);
    use_draft(session, options.draft, runtime, how);
    TextRun texts(model, session, output, generate);
    if (!options.images.empty()) {
        if (options.texts.size() != 1) throw Error(ErrorCode::usage, "--image: expected one TEXT, the prompt");
        texts.prompt(options.texts.front(), read_images(options.images));
        return 0;
    }
    if (generation && options.language.empty() && std::ranges::count(generation->left_open, "language") != 0)
        output.note("without --language, the model itself chooses the one that it writes");
    if (options.texts.empty()) return texts.lines(lines);
    return texts.words(options.texts);
}

} // namespace

Command add_run(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app =
        lamina.command("run", "Run a model on texts, images, pages or audio, or one of its graphs on tensors.");
    app.footer(
        "Texts are arguments, or lines on stdin. A model that generates text prints its answers, one that reads "
        "texts prints their vectors, classes or missing words, one that takes images those of image files or what "
        "they say, and one that takes audio prints transcripts of audio files.\n"
        "Examples: lamina run models/g2p vulkan transformer\n"
        "          lamina run all-MiniLM-L6-v2 \"A man plays the guitar.\" \"It rains.\"\n"
        "          lamina run ms-marco-MiniLM-L6-v2 --pairs \"Who?\" \"A man plays.\"\n"
        "          lamina run roberta-base \"Paris is the <mask> of France.\"\n"
        "          lamina run SmolLM2-135M-Instruct.gguf \"The capital of France is\"\n"
        "          lamina run whisper-tiny.en speech.flac\n"
        "          lamina run vit-base-patch16-224 photo.jpg\n"
        "          lamina run trocr-base-printed line.png\n"
        "          lamina run layoutlmv3-base-finetuned-funsd form.png --words form.tsv\n"
        "          lamina run clip-vit-base-patch32 photo.jpg --labels \"a cat, a dog\"\n"
        "          lamina run models/g2p < words.txt > phones.tsv\n"
        "          lamina run MODEL --graph encode -i ids=ids.npy --output-dir out");
    auto options = std::make_shared<RunOptions>();
    app.positional("MODEL", options->model, "folder, GGUF file or ORG/NAME, as Hugging Face names models").required();
    app.positional("TEXT", options->texts,
                   "texts, or audio or image files, to run on; if there are none, lines on stdin");
    const auto repeated = [&](const std::string &name, std::vector<std::string> &values, const std::string &description,
                              const std::string &type) { app.option(name, values, type, description); };
    repeated("-i,--input", options->tensors.inputs, "run on this tensor; may be repeated", "NAME=FILE.npy");
    repeated("-o,--output", options->tensors.outputs,
             "write an output, or another tensor of the graph, to a file; may be repeated", "NAME=FILE.npy");
    repeated(
        "--tap", options->tensors.taps,
        "show a tensor of any layer, by name or pattern ('encoder.*.norm_feed_forward'), or write it to a file; a '*' "
        "in FILE becomes the tensor's name; may be repeated",
        "NAME[=FILE.npy]");
    app.option("--output-dir", options->tensors.output_folder, "DIR", "write every output to DIR/NAME.npy").not_empty();
    app.option("--graph", options->tensors.graph, "NAME", "graph to run on --input; default: the only one").not_empty();
    add_load_options(app, options->load);
    add_draft_option(app, options->draft);
    add_cache_option(app, options->session);
    add_session_options(app, options->session);
    app.option("--language", options->language, "NAME",
               "language of the speech, such as en (default: detected), or the one to translate to")
        .not_empty();
    app.option("--source-language", options->source_language, "NAME",
               "language to translate from; default: that of the tokenizer's files")
        .not_empty();
    app.option("--task", options->task, "NAME", "transcribe, or translate to English; default: transcribe").not_empty();
    app.choice("--timestamps", options->timestamps, {"segments", "words", "characters"},
               "when what was said, in seconds: of segments or words, by models such as Whisper; of words or "
               "characters, by those that score characters");
    app.choice("--subtitles", options->subtitles, {"srt", "vtt"},
               "the transcript of one audio file as subtitles, of segments where the model tells them");
    app.flag(
        "--listen", options->listen,
        "transcribe what comes on stdin as it comes: samples of 16 bits, little-endian, one channel, at the model's "
        "rate, mostly 16,000 a second; prints what was said after each pause");
    app.flag("--skip-silence", options->generate.skip_silence,
             "leave out silence before and behind what a window hears; times stay those of the file");
    app.flag("--truncate", options->truncate,
             "cut texts of more tokens than a model reads; without it they are errors");
    app.flag("--pairs", options->pairs,
             "texts belong together, two by two, such as a question and a document; a line on stdin holds two, with a "
             "tab between them");
    app.option("--answers", options->answers, "N",
               "how many are shown: answers to a question (1), or words for a mask (5)");
    app.option("--prompt", options->prompt, "NAME",
               "the prompt that is put before texts, such as query; default: the one of the model; '': none");
    app.option(
        "--image", options->images, "FILE",
        "an image for the prompt, put where the prompt has the model's mark, or before it; may be repeated; for models "
        "that see and write");
    app.option(
        "--words", options->words, "FILE",
        "words of a page and where they stand, as 'tesseract page.png page tsv' writes them; once for each page; "
        "default: beside its image, such as page.tsv");
    app.option("--question", options->questions, "TEXT", "a question about each page; may be repeated");
    app.option("--labels", options->labels, "LABELS",
               "what images may show or texts be about, with commas between: 'a cat, a dog'; for models that compare "
               "images with texts, or say whether one text follows from another")
        .not_empty();
    app.option("--sentence", options->sentence, "TEXT",
               "what a label is put into, with {} in its place; default: '" + ImageOptions().sentence +
                   "' for images, '" + MatchOptions().sentence + "' for texts")
        .not_empty();
    app.flag("--multi-label", options->multi_label, "any number of --labels may describe a text, each by itself");
    app.choice("--on-error", options->on_error, {"stop", "skip"},
               "when a line on stdin cannot be used: end there, or report it, go on, and end with status 3")
        .shows_default();
    add_search_options(app, options->generate);
    app.option("--likeliest", options->likeliest, "N",
               "with --json: how likely the tokens were, and the N likeliest in their place")
        .within(int64_t{0}, int64_t{128});
    app.flag("--prompt-scores", options->generate.prompt_scores,
             "with --likeliest: the same of the tokens of the text");
    add_answer_options(app, options->generate, Defaults::own);
    add_grammar_options(app, options->grammar);
    return {app, [options, app, &global](Output &output) { return run(*options, app, global, output); }};
}

} // namespace lamina::cli
