// A session on a device that was lost: reopens the device and rebuilds everything that was on it.
#include "session/state.hpp"

#include <utility>

namespace lamina::detail {

void SessionState::connect() {
    if (backend != nullptr) return;
    if (device.kind == "cpu") {
        admission = runtime->admission(device);
        backend = runtime->cpu_backend(device, model->weights);
        return;
    }
    try {
        opened = runtime->open(device);
        admission = runtime->admission(device);
        backend = opened->backend(runtime->plugins, model->weights);
    } catch (const Error &e) {
        if (e.code() == ErrorCode::device_lost) let_go();
        throw;
    }
}

void SessionState::let_go() {
    programs = {};
    cached = {};
    decoding = nullptr;
    roomy = 0;
    backend.reset();
    admission.reset();
    runtime->forget(device, std::exchange(opened, nullptr));
}

void SessionState::recover(const Error &lost) {
    if (const auto &notify = runtime->options.notify)
        notify(device.id + " was lost; Lamina reopens it and restarts the work (" + lost.what() + ")");
    let_go();
    try {
        connect();
    } catch (const Error &e) {
        throw Error(ErrorCode::device_lost, std::string(lost.what()) + " It could not be reopened: " + e.what());
    }
}

} // namespace lamina::detail
