#include "serve/server.hpp"

#include "api.hpp"
#include "http.hpp"

#include <optional>

namespace lamina::serve {
namespace {

bool is_local(const std::string &host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

class HttpApi : public Server {
  public:
    HttpApi(const ServerOptions &options, const Runtime &runtime, const Device &device)
        : options_(options), api_({.keys = options.keys,
                                   .admin_keys = options.admin_keys,
                                   .origins = options.origins,
                                   .local = is_local(options.host),
                                   .most = options.queue,
                                   .largest_body = options.largest_body,
                                   .bodies = options.bodies,
                                   .longest = options.longest,
                                   .batch = options.batch,
                                   .smaller_caches = options.smaller_caches,
                                   .shortens = options.shortens,
                                   .guess_ahead = options.guess_ahead,
                                   .cuts = options.cuts,
                                   .most_models = options.most_models,
                                   .request_log = options.request_log,
                                   .version = options.version,
                                   .log = options.log},
                                  runtime, device) {}

    void add(ServedModel model) override { api_.models().add(std::move(model)); }

    std::string load(const std::string &name) override { return api_.models().load_now(name).room_in_words(); }

    void start() override {
        api_.gauges = [this] {
            return Metrics::Gauges{
                {"lamina_connections", {"Connections that are open.", static_cast<double>(http_->connections())}},
                {"lamina_body_bytes", {"Bytes of bodies that are here.", static_cast<double>(http_->bodies())}}};
        };
        constexpr size_t beside = 8; // threads for requests that need no place in the queue
        http_.emplace(
            HttpOptions{.host = options_.host,
                        .port = options_.port,
                        .threads = options_.queue + beside,
                        .connections = options_.connections,
                        .connections_of_address = options_.connections_of_address,
                        .largest_body = options_.largest_body,
                        .bodies = options_.bodies},
            HttpHandlers{.at_once = [this](const Request &head) { return api_.at_once(head); },
                         .answer = [this](const Request &request) { return api_.answer(request); },
                         .refuse = [this](const std::string &path, int status,
                                          const std::string &why) { return api_.refuse(path, status, why); }});
        http_->start();
    }

    [[nodiscard]] std::string url() const override {
        const bool v6 = options_.host.find(':') != std::string::npos;
        return "http://" + (v6 ? "[" + options_.host + "]" : options_.host) + ":" + std::to_string(http_->port());
    }

    void finish() override {
        api_.finish();
        http_.reset();
    }

  private:
    const ServerOptions options_;
    Api api_;
    std::optional<HttpServer> http_; // last, so that it ends first
};

} // namespace
} // namespace lamina::serve

extern "C" lamina::serve::Server *lamina_new_server(const lamina::serve::ServerOptions &options,
                                                    const lamina::Runtime &runtime, const lamina::Device &device) {
    return new lamina::serve::HttpApi(options, runtime, device);
}

extern "C" void lamina_stop_if_left() { lamina::serve::stop_if_left(); }
