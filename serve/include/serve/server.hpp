// The HTTP server of `lamina serve`: models behind OpenAI's API and the Open Inference Protocol.
//
//     const Device device = runtime.device("auto");
//     const std::unique_ptr<Server> server(new_server(options, runtime, device));
//     server->add({.name = "g2p", .device = device, .open = [=] { return runtime.load("models/g2p"); }});
//     server->load("g2p");
//     server->start();
//     ...
//     server->finish();
#pragma once

#include <lamina/batch.hpp>
#include <lamina/lamina.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lamina::serve {

struct ServerOptions {
    std::string host = "127.0.0.1";
    int port = 8000;                        // 0: any that is free
    std::vector<std::string> keys;          // of clients; none: no key is needed
    std::vector<std::string> admin_keys;    // of those who load and unload models, too; none: nobody does
    std::vector<std::string> origins;       // of pages that may use the server: "https://app.example"; "*": any
    size_t queue = 256;                     // requests that wait or run
    size_t connections = 1024;              // open at a time
    size_t connections_of_address = 512;    // of them, with the same address
    size_t largest_body = size_t{32} << 20; // bytes of a request
    size_t bodies = size_t{256} << 20;      // bytes of all requests and responses that are here
    std::chrono::seconds longest{600};      // that a request may take
    BatchOptions batch;                     // of the answers that a model writes side by side, if there is memory
    bool smaller_caches = true;             // in f16, where memory is short and a session's options say f32
    bool shortens = false;                  // conversations that are too long leave out their oldest turns
    size_t guess_ahead = 0;                 // GenerateOptions
    bool cuts = false;                      // texts to be read that are too long are cut
    // The most models that are loaded at a time: then a request for another one loads it, in the place of the one that
    // was used longest ago. 0: any number, and only an admin loads and unloads some.
    size_t most_models = 0;
    std::filesystem::path request_log; // gets a line of JSON for each request; empty: none
    std::string version;               // of Lamina
    std::function<void(const std::string &line)> log = [](const std::string &) {}; // on any thread
};

// A model that clients may ask.
struct ServedModel {
    std::string name{};                 // by which clients call it
    std::vector<std::string> aliases{}; // other names of it
    Device device{};                    // that it runs on
    SessionOptions session{};
    std::filesystem::path path{};   // where it is, which no client is told
    std::function<Model()> open{};  // reads it, whenever it is loaded
    std::function<Model()> draft{}; // reads the model that guesses its answers; empty: none
    // Or it is another one with these adapters, whose weights it shares: then the device, the session's options, the
    // path and open() are that one's. It is there when the other one is.
    std::string parent{};
    std::vector<Adapter> adapters{};
};

class Server {
  public:
    Server() = default;
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    virtual ~Server() = default;

    // Models are added before start(). No two have a name in common.
    virtual void add(ServedModel model) = 0;
    // Loads one of them, also before start(). Returns how many texts it writes at once, and how long ones, for people
    // to read; empty if it writes none. Throws Error.
    virtual std::string load(const std::string &name) = 0;
    // From now on requests are answered, on threads of the server. Throws Error(failure) if the port cannot be had.
    virtual void start() = 0;
    [[nodiscard]] virtual std::string url() const = 0;
    // Refuses new requests, answers those that it has, and ends.
    virtual void finish() = 0;
};

// The symbol "lamina_new_server" of liblamina_serve.so. The command opens this library only to serve: no other run
// needs it. The caller deletes the result.
using NewServer = Server *(const ServerOptions &options, const Runtime &runtime, const Device &device);

// Likewise "lamina_stop_if_left", which is to be RuntimeOptions::working of that runtime: what nobody waits for any
// more ends before its next piece, unless it is computed together with what others wait for.
using StopIfLeft = void();

} // namespace lamina::serve
