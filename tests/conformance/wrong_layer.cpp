#include "wrong_layer.hpp"

#include "drivers.hpp"

#include <array>
#include <cstring>
#include <vector>

namespace test {
namespace {

const lamina_layer *honest = nullptr; // layer_norm's contract
Mistake made;

// Passes on every dispatch, with the mistake.
lamina_status dispatch_mistaken(const lamina_host *host, const lamina_dispatch *dispatch) {
    const auto *real = static_cast<const lamina_host *>(host->context);
    lamina_dispatch changed = *dispatch;
    std::array<std::byte, LAMINA_MAX_PUSH_BYTES> push{};
    std::memcpy(push.data(), dispatch->push, dispatch->push_bytes);
    uint32_t rows = 0;
    std::memcpy(&rows, push.data(), sizeof rows); // the first of layer_norm's push constants
    rows += static_cast<uint32_t>(made.extra_rows);
    std::memcpy(push.data(), &rows, sizeof rows);
    changed.push = push.data();
    changed.groups[0] = rows;
    std::vector<lamina_ref> bind(dispatch->bind, dispatch->bind + dispatch->n_bind);
    bind[0].bytes = made.bytes_of_x; // x is the first of layer_norm's bindings
    changed.bind = bind.data();
    return real->dispatch(real, &changed);
}

lamina_status plan_mistaken(const lamina_call *call, uint32_t variant, const lamina_host *host) {
    lamina_host wrapped = *host;
    wrapped.context = const_cast<lamina_host *>(host);
    wrapped.error = [](const lamina_host *h, const char *message) {
        const auto *real = static_cast<const lamina_host *>(h->context);
        real->error(real, message);
    };
    wrapped.dispatch = dispatch_mistaken;
    return honest->plan(call, variant, &wrapped);
}

} // namespace

lamina::abi::Layer layer_norm_with(Mistake mistake) {
    static lamina_layer contract;
    lamina::abi::Layer layer = plugins()->layer("layer_norm");
    honest = layer.contract;
    made = mistake;
    contract = *honest;
    contract.plan = plan_mistaken;
    layer.contract = &contract;
    return layer;
}

} // namespace test
