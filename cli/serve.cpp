// lamina serve: models behind HTTP.
#include "serve/server.hpp"

#include "command.hpp"
#include "draft.hpp"
#include "interrupt.hpp"
#include "load_arguments.hpp"
#include "model_arguments.hpp"

#include "base/dynamic_library.hpp"
#include "base/file.hpp"
#include "base/joined.hpp"
#include "base/nearest.hpp"
#include "base/own_files.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>

namespace lamina::cli {
namespace {

struct ServeArguments {
    std::vector<std::string> models, aliases, devices, keys, admin_keys, origins;
    std::filesystem::path key_file, admin_key_file, request_log;
    std::string host = "127.0.0.1", truncation = "disabled";
    int64_t port = 8000, queue = 256, connections = 1024, connections_of_address = 512, timeout = 600,
            largest_body = 32, bodies = 256, slots = 8, context = 4096, guess_ahead = 0, most_models = 0;
    bool truncate = false;
    SessionArguments session;
    LoadArguments load;
    std::filesystem::path draft;
};

struct NamedModel {
    std::string name;
    std::filesystem::path path;
    std::string device{}; // "": that of all
    std::vector<std::string> aliases{};
};

// In full, if it is there: a short one, such as "text", is also a word of messages, where the server puts names in
// place of paths. Without a separator at its end.
std::filesystem::path whole_path(const std::filesystem::path &given) {
    std::error_code error;
    if (!std::filesystem::exists(given, error)) return given; // ORG/NAME
    const std::filesystem::path out = std::filesystem::absolute(given);
    return out.has_filename() ? out : out.parent_path();
}

// "NAME=PATH", or a path whose last part is the name, without ".gguf".
NamedModel named_model(const std::string &argument) {
    std::error_code error;
    const size_t equals = argument.find('=');
    if (equals != std::string::npos && equals != 0 && !std::filesystem::exists(argument, error))
        return {argument.substr(0, equals), whole_path(argument.substr(equals + 1))};
    const std::filesystem::path path = whole_path(argument);
    std::filesystem::path last = std::filesystem::absolute(path).lexically_normal();
    if (!last.has_filename()) last = last.parent_path(); // of "."
    const bool file = last.extension() == ".gguf";
    return {file ? last.stem().string() : last.filename().string(), path};
}

std::vector<NamedModel> named_models(const std::vector<std::string> &arguments) {
    std::vector<NamedModel> out;
    for (const std::string &argument : arguments) {
        NamedModel model = named_model(argument);
        if (model.name.empty() || model.name.find('/') != std::string::npos)
            throw Error(ErrorCode::usage, argument + ": '" + model.name +
                                              "' cannot be the name of a model; give it one: NAME=" + argument);
        for (const NamedModel &other : out)
            if (other.name == model.name)
                throw Error(ErrorCode::usage, "two models are called " + model.name + ": " + other.path.string() +
                                                  " and " + model.path.string() + "; NAME=MODEL gives one a name");
        out.push_back(std::move(model));
    }
    return out;
}

NamedModel &model_called(const std::string &name, std::vector<NamedModel> &models, const std::string &option) {
    std::vector<std::string> names;
    for (NamedModel &each : models) {
        if (each.name == name) return each;
        names.push_back(each.name);
    }
    throw Error(ErrorCode::usage, option + ": no model is called " + in_quotes(name) + instead_of(name, names));
}

// --alias: "ALIAS=NAME", or "ALIAS" of the only model.
void add_aliases(const std::vector<std::string> &given, std::vector<NamedModel> &models) {
    for (const std::string &text : given) {
        const size_t equals = text.find('=');
        const std::string alias = text.substr(0, equals);
        if (equals == std::string::npos && models.size() != 1)
            throw Error(ErrorCode::usage, "--alias: expected ALIAS=NAME, with the name of one of the " +
                                              std::to_string(models.size()) + " models; found " + in_quotes(text));
        if (alias.empty() || alias.find('/') != std::string::npos)
            throw Error(ErrorCode::usage, "--alias: " + in_quotes(alias) + " cannot be the name of a model");
        for (const NamedModel &each : models)
            if (each.name == alias || std::ranges::count(each.aliases, alias) != 0)
                throw Error(ErrorCode::usage, "--alias: a model is called " + in_quotes(alias) + " already");
        NamedModel &model =
            equals == std::string::npos ? models.front() : model_called(text.substr(equals + 1), models, "--alias");
        model.aliases.push_back(alias);
    }
}

// Those of the command line, and of the lines of a file.
std::vector<std::string> keys_of(const std::vector<std::string> &given, const std::filesystem::path &file) {
    std::vector<std::string> out = given;
    if (file.empty()) return out;
    const std::vector<std::byte> bytes = read_file(file, 1 << 20);
    std::istringstream lines(std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r')) line.pop_back();
        if (!line.empty()) out.push_back(line);
    }
    if (out.empty()) throw Error(ErrorCode::input, file.string() + ": expected a key on each line, found none");
    return out;
}

// As browsers send them. "null", which pages without a site send, could be anybody's.
std::vector<std::string> origins_of(const ServeArguments &arguments) {
    for (const std::string &origin : arguments.origins) {
        const size_t scheme = origin.find("://");
        const bool right = scheme != std::string::npos && scheme > 0 && scheme + 3 < origin.size() &&
                           origin.find_first_of("/?#@* ", scheme + 3) == std::string::npos &&
                           std::ranges::none_of(origin, [](char c) { return c >= 'A' && c <= 'Z'; });
        if (!right && origin != "*")
            throw Error(ErrorCode::usage, "--allow-origin: expected *, or an origin in lower case and without a path, "
                                          "such as https://app.example:8443; found '" +
                                              origin + "'");
    }
    return arguments.origins;
}

serve::ServerOptions server_options(const ServeArguments &arguments) {
    return {.host = arguments.host,
            .port = static_cast<int>(arguments.port),
            .keys = keys_of(arguments.keys, arguments.key_file),
            .admin_keys = keys_of(arguments.admin_keys, arguments.admin_key_file),
            .origins = origins_of(arguments),
            .queue = static_cast<size_t>(arguments.queue),
            .connections = static_cast<size_t>(arguments.connections),
            .connections_of_address = static_cast<size_t>(arguments.connections_of_address),
            .largest_body = static_cast<size_t>(arguments.largest_body) << 20u,
            .bodies = static_cast<size_t>(std::max(arguments.bodies, arguments.largest_body)) << 20u,
            .longest = std::chrono::seconds(arguments.timeout),
            .batch = {.slots = static_cast<size_t>(arguments.slots), .length = arguments.context},
            .smaller_caches = arguments.session.cache == "auto",
            .shortens = arguments.truncation == "auto",
            .guess_ahead = static_cast<size_t>(arguments.guess_ahead),
            .cuts = arguments.truncate,
            .most_models = static_cast<size_t>(arguments.most_models),
            .request_log = arguments.request_log,
            .version = std::string(LAMINA_VERSION).substr(std::string("lamina ").size())};
}

// What the library of the server has, which nothing else needs.
template <class Function> Function *in_server(const char *symbol) {
    const std::string name = "liblamina_serve" + library_ending;
    const DynamicLibrary library = open_library(own_file(name).value_or(name)); // on Windows it is beside the command
    if (library.handle == nullptr) throw Error(ErrorCode::failure, "the server is not installed: " + library.fault);
    void *found = symbol_in(library.handle, symbol);
    if (found == nullptr) throw Error(ErrorCode::failure, name + " is not a server");
    return reinterpret_cast<Function *>(found);
}

int serve(const ServeArguments &arguments, const GlobalOptions &global, Output &output) {
    std::vector<NamedModel> models = named_models(arguments.models);
    add_aliases(arguments.aliases, models);
    for (const auto &[name, device] : assignments(arguments.devices, "--device-of"))
        model_called(name, models, "--device-of").device = device;
    const ServedAdapters adapters = served_adapters(arguments.load);
    if (!arguments.load.lora.empty() && models.size() != 1)
        throw Error(ErrorCode::usage,
                    "--lora: expected one MODEL, which the adapter changes; found " + std::to_string(models.size()));
    if (!arguments.load.mmproj.empty() && models.size() != 1)
        throw Error(ErrorCode::usage, "--mmproj: expected one MODEL, whose images it reads; found " +
                                          std::to_string(models.size()) +
                                          ". Others take the *mmproj*.gguf beside them");
    if (!arguments.draft.empty() && models.size() != 1)
        throw Error(ErrorCode::usage,
                    "--draft: expected one MODEL, whose answers it guesses; found " + std::to_string(models.size()));
    serve::ServerOptions options = server_options(arguments);
    options.log = [&output](const std::string &line) { output.note(line); };
    RuntimeOptions how = global.runtime(output);
    how.working = in_server<serve::StopIfLeft>("lamina_stop_if_left");
    const Runtime runtime(how);
    const Device device = chosen_device(runtime, global, output);
    const std::unique_ptr<serve::Server> server(
        in_server<serve::NewServer>("lamina_new_server")(options, runtime, device));
    std::vector<std::string> names;
    for (const NamedModel &model : models) {
        const Device own = model.device.empty() ? device : runtime.device(model.device);
        server->add(
            {.name = model.name,
             .aliases = model.aliases,
             .device = own,
             .session = session_options(arguments.session, runtime, own),
             .path = model.path,
             .open = [runtime, path = model.path, changes = adapters.merged] { return runtime.load(path, changes); },
             .draft = arguments.draft.empty() ? std::function<Model()>()
                                              : [runtime, path = arguments.draft] { return runtime.load(path); }});
        names.push_back(model.name);
    }
    for (const auto &[name, adapter] : adapters.named) {
        if (name == names.front() || std::ranges::count(models.front().aliases, name) != 0 ||
            std::ranges::count(names, name) != 0 || name.find('/') != std::string::npos)
            throw Error(ErrorCode::usage, "--lora: " + in_quotes(name) + " cannot be the name of another adapter");
        server->add({.name = name, .parent = names.front(), .adapters = {{whole_path(adapter.path), adapter.scale}}});
        names.push_back(name);
    }
    for (size_t i = 0; i < names.size() && (options.most_models == 0 || i < options.most_models); ++i) {
        const std::string room = server->load(names[i]);
        if (!room.empty()) output.note(names[i] + ": " + room);
        stop_if_interrupted();
    }
    wait_for_work(); // before anybody knows of the server: from then on it ends in order
    server->start();
    if (output.json())
        output.print_json({{"url", server->url()}, {"models", names}});
    else
        output.print(server->url() + "\n");
    output.note("serving " + joined(names) + "; Ctrl-C ends it once its requests are answered");

    while (interrupted() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    output.note("ending: new requests are refused, running ones are finished");
    server->finish();
    return 0;
}

} // namespace

Command add_serve(const Arguments &lamina, const GlobalOptions &global) {
    const Arguments app = lamina.command(
        "serve", "Serve models over HTTP: the APIs of OpenAI and Anthropic, and the Open Inference Protocol.");
    app.footer("Prints the server's address, and ends on SIGTERM or Ctrl-C, when all requests that have begun are "
               "answered. docs/serving.md has examples of clients.\n"
               "Examples: lamina serve all-MiniLM-L6-v2\n"
               "          lamina serve chat=SmolLM2-135M-Instruct.gguf models/g2p --port 9000\n"
               "          lamina serve MODEL --host 0.0.0.0 --api-key-file keys.txt");
    auto arguments = std::make_shared<ServeArguments>();
    app.positional(
           "MODEL", arguments->models,
           "folders, GGUF files or ORG/NAME, as Hugging Face names models; NAME=MODEL says what clients call it")
        .required();
    app.option("--alias", arguments->aliases, "ALIAS[=NAME]",
               "clients may also call the model NAME by this name, such as gpt-4o-mini; may be repeated")
        .not_empty();
    app.option("--device-of", arguments->devices, "NAME=DEVICE",
               "the model NAME runs on this device, and the others on that of --device; may be repeated")
        .not_empty();
    app.option("--models-max", arguments->most_models, "N",
               "load the first N models, and another one when it is asked for, in the place of the one that was used "
               "longest ago; 0: load all")
        .shows_default()
        .within(int64_t{0}, int64_t{1024});
    app.option("--host", arguments->host, "ADDRESS", "address to listen on; 0.0.0.0 lets other machines connect")
        .shows_default()
        .not_empty();
    app.option("--port", arguments->port, "N", "port to listen on; 0: any that is free")
        .shows_default()
        .within(int64_t{0}, int64_t{65535});
    app.option("--api-key", arguments->keys, "KEY",
               "clients must send this key; may be repeated. Other users of this machine can see it: "
               "--api-key-file hides it")
        .not_empty();
    app.option("--api-key-file", arguments->key_file, "FILE", "clients must send one of the keys in the file's lines")
        .not_empty();
    app.option("--admin-key", arguments->admin_keys, "KEY",
               "clients with this key may also load and unload models; may be repeated. --admin-key-file hides it")
        .not_empty();
    app.option("--admin-key-file", arguments->admin_key_file, "FILE", "the same for the keys in the file's lines")
        .not_empty();
    app.option("--request-log", arguments->request_log, "FILE",
               "add a line of JSON to this file for each request: when it was answered, its path, model, status, times "
               "and tokens, but no texts")
        .not_empty();
    app.option("--allow-origin", arguments->origins, "ORIGIN",
               "pages of this site may use the server through a browser, such as https://app.example; *: of any site; "
               "may be repeated")
        .not_empty();
    app.option("--queue", arguments->queue, "N", "the most requests that wait or run; others are told to come later")
        .shows_default()
        .within(int64_t{1}, int64_t{4096});
    app.option("--slots", arguments->slots, "N", "the most answers that a model writes side by side; others wait")
        .shows_default()
        .within(int64_t{1}, int64_t{1024});
    app.option("--context", arguments->context, "N",
               "the most tokens of a text with its answer; 0: as many as the model has positions for")
        .shows_default()
        .within(int64_t{0}, int64_t{1 << 20});
    app.option(
           "--guess-ahead", arguments->guess_ahead, "N",
           "where an answer that is written alone repeats itself, guess N tokens and check them in one step, as long "
           "as that is faster")
        .shows_default()
        .within(int64_t{0}, int64_t{64});
    app.choice("--truncation", arguments->truncation, {"auto", "disabled"},
               "what becomes of a conversation that is too long: auto leaves out its oldest turns, disabled refuses it")
        .shows_default();
    app.flag("--truncate", arguments->truncate,
             "cut texts that are too long for vectors, ranks or classes, unless a request says otherwise");
    app.option("--timeout", arguments->timeout, "SECONDS", "the longest that a request may take")
        .shows_default()
        .within(int64_t{1}, int64_t{86400});
    app.option("--max-body", arguments->largest_body, "MIB", "the largest body of a request")
        .shows_default()
        .within(int64_t{1}, int64_t{4096});
    app.option("--max-bodies", arguments->bodies, "MIB", "the most that all requests and responses take together")
        .shows_default()
        .within(int64_t{1}, int64_t{1 << 20});
    app.option("--connections", arguments->connections, "N",
               "the most connections; for another one, the one that has waited for its client the longest is closed")
        .shows_default()
        .within(int64_t{1}, int64_t{1 << 16});
    app.option("--connections-per-address", arguments->connections_of_address, "N",
               "the same for an address; behind a proxy, where all have the same one: as many as --connections")
        .shows_default()
        .within(int64_t{1}, int64_t{1 << 16});
    app.option("--lora", arguments->load.lora, "[NAME=]ADAPTER[=SCALE]",
               "an adapter (LoRA), as other commands take it. With a NAME, requests choose it as a model of this name, "
               "which shares the weights of MODEL; without, it is merged into MODEL; may be repeated")
        .not_empty();
    add_mmproj_option(app, arguments->load.mmproj);
    add_draft_option(app, arguments->draft);
    arguments->session.cache = "auto";
    add_cache_option(app, arguments->session, {"auto", "f32", "f16", "q8_0"});
    add_session_options(app, arguments->session);
    return {app, [arguments, &global](Output &output) { return serve(*arguments, global, output); }};
}

} // namespace lamina::cli
