// lamina chat: a conversation with a model, in the format that it was trained for.
#include "command.hpp"
#include "draft.hpp"
#include "generate_options.hpp"
#include "image_run.hpp"
#include "interrupt.hpp"
#include "lines.hpp"
#include "load_arguments.hpp"
#include "model_arguments.hpp"
#include "table.hpp"
#include "text_run.hpp"

#include "base/standard_streams.hpp"

#include <lamina/batch.hpp>
#include <lamina/image.hpp>
#include <lamina/sampling.hpp>
#include <lamina/texts.hpp>

#include <optional>
#include <utility>

namespace lamina::cli {
namespace {

constexpr int64_t longest_answer = 4096; // in tokens, where --max-length says nothing

struct ChatCommandOptions {
    std::filesystem::path model;
    std::vector<std::string> texts, images;
    std::string system, truncation = "auto";
    SessionArguments session;
    LoadArguments load;
    std::filesystem::path draft;
    GenerateOptions generate;
    GrammarArguments grammar;
};

class Conversation {
  public:
    Conversation(Model model, Session session, Output &output, const ChatCommandOptions &options)
        : model_(std::move(model)), session_(std::move(session)), output_(output), generate_(options.generate),
          shortens_(options.truncation == "auto") {
        if (generate_.max_length == 0) generate_.max_length = longest_answer;
        generate_.special_tokens = false; // the template has them
        generate_.reuse = true;           // a turn begins with all turns before it
        images_ = read_images(options.images);
        new_images_ = images_.size();
    }

    // The answer is shown as it comes. If it is not finished (Error, Interrupted), what there is of it is kept, and
    // without any of it the message is forgotten.
    void say(const std::string &text) {
        messages_.push_back({"user", text, new_images_});
        try {
            answer();
        } catch (...) {
            shown_.empty() ? messages_.pop_back() : keep(shown_);
            throw;
        }
    }

    // What the system says, before all messages.
    void begin(const std::string &text) { messages_.push_back({"system", text}); }

    void finish() const {
        if (!output_.json()) return;
        Json out = Json::array();
        for (const ChatMessage &each : messages_) out.push_back({{"role", each.role}, {"content", each.content}});
        output_.print_json(out);
    }

  private:
    void answer() {
        shown_.clear();
        Pace pace;
        generate_.stream = [&](size_t, std::string_view piece) {
            pace.token();
            shown_ += piece;
            if (!output_.json()) output_.print(piece);
            stop_if_interrupted();
        };
        const Hypothesis found = generate_from_ids(session_, prompt(), generate_).front();
        if (!output_.json()) output_.print("\n");
        output_.note(pace.summary(found.tokens.size()));
        keep(found.text);
    }

    void keep(const std::string &answer) {
        messages_.push_back({"assistant", answer});
        new_images_ = 0;
        ++generate_.first; // another turn draws other random numbers
    }

    // The ids of its tokens.
    std::vector<int32_t> prompt() {
        if (!shortens_) return image_prompt_ids(session_, chat_prompt(model_, messages_), images_);
        if (longest_ == 0) longest_ = static_cast<size_t>(room_for(session_, {.slots = 1}).length);
        const bool is_chosen = generate_.max_length != longest_answer;
        const size_t answer = is_chosen ? static_cast<size_t>(generate_.max_length) : 0;
        ShortenedChat shortened = shortened_chat_prompt(model_, session_, messages_, images_, longest_, answer);
        if (shortened.left_out > left_out_)
            output_.note("the conversation has become too long: its oldest " + std::to_string(shortened.left_out) +
                         " messages are left out");
        left_out_ = shortened.left_out;
        return std::move(shortened.ids);
    }

    Model model_;
    Session session_;
    Output &output_;
    GenerateOptions generate_;
    std::vector<ChatMessage> messages_;
    std::string shown_;         // of the answer that is being written
    std::vector<Image> images_; // of all messages
    size_t new_images_ = 0;     // the last of them, which come with the next message
    bool shortens_;
    size_t longest_ = 0, left_out_ = 0; // tokens that a conversation may have; messages without room
};

// A terminal with a person, who is asked for messages, or lines of a program.
struct Messages {
    bool of_person, asks;
    LineReader lines;

    explicit Messages(const Output &output)
        : of_person(is_terminal(standard_input)), asks(of_person && is_terminal(standard_output) && !output.json()),
          lines(standard_input, of_person ? OnError::skip : OnError::stop) {}

    // A line; of a person also several, all but the last of which end in a backslash. Nothing at the end.
    std::optional<std::string> next(Output &output) {
        std::string out;
        for (const char *mark = "> ";; mark = ". ") {
            if (asks) output.print(output.styled(mark, Style::bold));
            const std::vector<std::string> line = lines.next(1);
            if (line.empty()) return out.empty() ? std::nullopt : std::optional(out);
            out += line.front();
            if (!of_person || !out.ends_with('\\')) return out;
            out.back() = '\n';
        }
    }
};

// A person hears of a message that cannot be answered, and goes on, also after ending an answer by Ctrl-C. Lines of a
// program end there.
void talk(Conversation &conversation, Output &output) {
    Messages messages(output);
    if (messages.asks)
        output.note(std::string(end_of_input_keys()) +
                    " ends the conversation, Ctrl-C an answer; a line that ends in \\ goes on in the next one");
    while (const std::optional<std::string> text = messages.next(output)) {
        if (text->empty()) continue;
        try {
            std::optional<AnswerInterrupt> only_answer;
            if (messages.of_person) only_answer.emplace();
            conversation.say(*text);
        } catch (const Interrupted &) {
            if (!messages.of_person || interrupted() != 0) throw; // by another signal
            if (!output.json()) output.print("\n");
        } catch (const Error &why) {
            messages.lines.refuse(0, why.what(), why.code());
        }
    }
    if (messages.asks) output.print("\n");
}

// What the command line leaves open is as the model's makers would have it. Says what is sampled.
GenerateOptions answer_options(const ChatCommandOptions &options, const Arguments &app, const Model &model,
                               Output &output) {
    const GenerateOptions suggested = suggested_options(model), plain;
    GenerateOptions out = options.generate;
    for (const SamplingOption &option : sampling_options)
        if (!app.is_given(option_name(option))) option.set(out, option.of(suggested).value());
    check_answer_options(app, out);
    std::string how;
    for (const SamplingOption &option : sampling_options) {
        const double value = option.of(out).value(), none = option.of(plain).value_or(1);
        if (value != none && (out.temperature > 0 || !option.samples))
            how += " " + option_name(option) + " " + significant(value, 3);
    }
    if (out.temperature == 0) {
        if (!how.empty()) output.note("taking the likeliest tokens with" + how);
        return out;
    }
    how.insert(0, "sampling with");
    if (!app.is_given("--temperature")) how += ", as the model suggests; --temperature 0 takes the likeliest";
    output.note(how);
    return out;
}

int chat(ChatCommandOptions options, const Arguments &app, const GlobalOptions &global, Output &output) {
    const Runtime runtime(global.runtime(output));
    const Model model = runtime.load(options.model, load_options(options.load));
    refuse_media(options.texts);
    if (!options.images.empty()) expect_image_prompts(model);
    (void)chat_prompt(model, {{"user", "Hello"}}); // a model that cannot talk is refused before a device is opened
    options.generate = answer_options(options, app, model, output);
    options.generate.grammar = grammar_of(options.grammar);
    const Device device = chosen_device(runtime, global, output);
    const SessionOptions how = session_options(options.session, runtime, device);
    Session session = runtime.session(model, device, how);
    use_draft(session, options.draft, runtime, how);
    Conversation conversation(model, session, output, options);
    if (app.is_given("--system")) conversation.begin(options.system);
    for (const std::string &text : options.texts) conversation.say(text);
    if (options.texts.empty()) talk(conversation, output);
    conversation.finish();
    return 0;
}

} // namespace

Command add_chat(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command("chat", "Talk with a language model, using its own chat template.");
    app.footer(
        "Each line on stdin is a message; the answer is printed as it comes. At a terminal, a line that ends in \\ "
        "goes on in the next one, Ctrl-C ends an answer, and a message that cannot be answered is left out.\n"
        "Examples: lamina chat SmolLM2-135M-Instruct.gguf\n"
        "          lamina chat SmolLM2-135M-Instruct.gguf \"Why is the sky blue?\"\n"
        "          lamina chat gemma-3-4b-it-Q4_0.gguf --image photo.jpg \"What is this?\"");
    auto options = std::make_shared<ChatCommandOptions>();
    app.positional("MODEL", options->model, "folder, GGUF file or ORG/NAME, as Hugging Face names models").required();
    app.positional("TEXT", options->texts, "messages, one after the other; if there are none, lines on stdin");
    app.option("--image", options->images, "FILE",
               "an image that comes with the first message; may be repeated; for models that see");
    app.option("--system", options->system, "TEXT",
               "tell the model how to answer; \"\": say nothing; default: as its template says");
    add_load_options(app, options->load);
    add_draft_option(app, options->draft);
    add_cache_option(app, options->session);
    add_session_options(app, options->session);
    app.choice("--truncation", options->truncation, {"auto", "disabled"},
               "what becomes of a conversation that is too long: auto leaves out its oldest turns, disabled ends it")
        .shows_default();
    options->generate.max_length = longest_answer;
    add_answer_options(app, options->generate, Defaults::of_model);
    add_grammar_options(app, options->grammar);
    return {app, [options, app, &global](Output &output) { return chat(*options, app, global, output); }};
}

} // namespace lamina::cli
