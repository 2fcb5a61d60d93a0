// Which function of the Api answers which path.
#pragma once

#include "api.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace lamina::serve {

inline constexpr size_t most_text = size_t{4} << 20; // bytes of a request: reading texts takes many times their size

struct Api::Route {
    std::string_view method, pattern; // "{model}" and "{file}" are one part of a path
    Response (Api::*answer)(const Call &);
    // open: needs no key. key: one of any kind, if there are keys. admin: one of an admin.
    enum class Door { open, key, admin } door = Door::key;
    // glance: answered at once, whatever else goes on. work: counts as a request that waits or runs.
    enum class Cost { glance, look, work } cost = Cost::look;
    size_t largest_body = SIZE_MAX; // bytes, if that is less than what the server takes

    void expect_size(size_t bytes) const {
        if (bytes > largest_body)
            throw Refusal(413, "the body is too large: expected at most " + std::to_string(largest_body) +
                                   " bytes for " + std::string(pattern));
    }
};

// What a call has used, as it is known in the end.
struct Api::Use {
    std::shared_ptr<Engine> engine; // which is not unloaded while this exists; null: none
    Usage tokens{};
    std::optional<Metrics::Seconds> first_token{}; // since it was asked
};

struct Api::Call {
    const Request &request;
    std::string part; // what stands for "{model}" or "{file}" in the path
    std::shared_ptr<Use> use = std::make_shared<Use>();
    bool waits = false; // it waits or runs: Route::Cost::work
    Owner owner{};      // of the work that it asks for

    // Of a kind in work.hpp, for an engine.
    template <class Kind> [[nodiscard]] std::shared_ptr<Kind> work() const {
        auto out = std::make_shared<Kind>();
        out->asked = request.arrived;
        out->owner = owner;
        return out;
    }
};

// The paths of OpenAI's API that a model can be used with, the most telling one first.
[[nodiscard]] Json endpoints_of(const Engine &engine);
// Which kinds of input a model takes beside texts, as /props of llama.cpp's server has it.
[[nodiscard]] Json modalities_of(const Engine &engine);
// What /v2 calls a graph: by the model's name if it is the only one, else "g2p.encode".
[[nodiscard]] std::string graph_name(const Engine &engine, const std::string &graph);

} // namespace lamina::serve
