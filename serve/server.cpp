#include "serve/server.hpp"

#include "api.hpp"
#include "http.hpp"
#include "refusal.hpp"

#include <optional>

namespace lamina::serve {
namespace {

bool is_local(const std::string &host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

class HttpApi : public Server {
  public:
    HttpApi(const ServerOptions &options, const Runtime &runtime, const Device &device)
        : options_(options), runtime_(runtime), api_({.keys = options.keys,
                                                      .local = is_local(options.host),
                                                      .most = options.queue,
                                                      .longest = options.longest,
                                                      .batch = options.batch,
                                                      .version = options.version},
                                                     device) {}

    void add(const std::string &name, const Model &model, const SessionOptions &options) override {
        api_.add(name, runtime_, model, options);
    }

    void start() override {
        constexpr size_t beside = 32; // connections for health checks, metrics and refusals while the queue is full
        http_.emplace(
            HttpOptions{.host = options_.host,
                        .port = options_.port,
                        .connections = options_.queue + beside,
                        .largest_body = options_.largest_body},
            [this](const Request &request) { return api_.answer(request); },
            [](const std::string &path, int status, const std::string &why) { return refusal(path, status, why); });
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
    const Runtime runtime_;
    Api api_;
    std::optional<HttpServer> http_; // last, so that it ends first
};

} // namespace
} // namespace lamina::serve

extern "C" lamina::serve::Server *lamina_new_server(const lamina::serve::ServerOptions &options,
                                                    const lamina::Runtime &runtime, const lamina::Device &device) {
    return new lamina::serve::HttpApi(options, runtime, device);
}
