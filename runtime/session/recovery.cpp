// The devices of a session: opened, divided among, and reopened after they were lost.
#include "session/state.hpp"

#include "base/binary_size.hpp"

#include <algorithm>
#include <utility>

namespace lamina::detail {
namespace {

// "model.layers.0 to model.layers.11 on vulkan:0 (1.2 GiB of weights, 2.0 GiB free), ..."
std::string text_of(const split::Layers &layers, const split::Division &division, const std::vector<Place> &places) {
    std::string out;
    for (size_t i = 0, first = 0; i < places.size(); first += division.counts[i++]) {
        const size_t count = division.counts[i];
        out += (i == 0 ? "" : "; ") + (count == 0 ? "nothing" : layers.all[first].name);
        if (count > 1) out += " to " + layers.all[first + count - 1].name;
        out += " on " + places[i].device.id;
        if (count == 0) continue;
        out += " (" + binary_size(division.weights[i]) + " of weights";
        if (division.caches[i] != 0)
            out +=
                ", " + binary_size(division.caches[i]) + " of caches for " + std::to_string(layers.tokens) + " tokens";
        if (division.rooms[i]) out += "; it has room for " + binary_size(*division.rooms[i]);
        out += ")";
    }
    return out;
}

// The same layers on as many devices are told once, however much memory is free by now.
std::string key_of(const model::Model &model, const split::Division &division) {
    std::string out = model.folder.string() + " " + model.name;
    for (const size_t count : division.counts) out += " " + std::to_string(count);
    return out;
}

} // namespace

SessionState::SessionState(std::shared_ptr<SessionState> other, std::shared_ptr<const model::Model> own,
                           model::Weights of_own)
    : beside(std::move(other)), added(std::move(of_own)), runtime(beside->runtime), model(std::move(own)),
      device(beside->device), options(beside->options) {
    for (const Place &place : beside->places) places.push_back({place.device, {}, {}, {}, false});
}

// What it has beside the other one goes with it.
SessionState::~SessionState() {
    if (!beside) return;
    const auto remove = [&] {
        flows->settle(); // what still runs may use what is removed
        for (const Place &place : places)
            if (place.backend != nullptr) place.backend->remove(model->states);
    };
    try {
        const std::scoped_lock other(beside->turn);
        remove();
    } catch (const Error &) { // this thread has the turn: a callback destroys the session
        remove();
    }
}

void SessionState::connect() {
    if (beside) beside->connect();
    for (size_t i = 0; i < places.size(); ++i)
        if (places[i].backend == nullptr) connect(i);
    if (places.size() > 1 && split == nullptr) divide();
}

void SessionState::connect(size_t number) {
    Place &place = places[number];
    try {
        if (beside) {
            const Place &shared = beside->places[number];
            flows->settle(); // what still runs reads the list of weights
            shared.backend->add(added);
            place.opened = shared.opened;
            place.admission = shared.admission;
            place.backend = shared.backend;
            return;
        }
        place.opened = runtime->open(place.device);
        place.admission = runtime->admission(place.device);
        place.backend = place.opened->backend(model->weights);
    } catch (const Error &e) {
        place.lost = e.code() == ErrorCode::device_lost; // whoever recovers lets go of it
        throw;
    }
}

// Which layers are on which device stays the same when a device is reopened.
void SessionState::divide() {
    split::Layers layers = split::layers_of(*model, *runtime->plugins, options.cache);
    if (beside) division_ = beside->division_;
    if (!division_ && !options.split.empty()) division_ = split::divide(layers, options.split, places.size());
    if (!division_) {
        std::vector<std::optional<uint64_t>> rooms;
        for (size_t i = 0; i < places.size(); ++i) {
            rooms.push_back(places[i].backend->need(plan::GraphPlan()).front().free);
            if (i < options.max_memory.size())
                rooms.back() = std::min(rooms.back().value_or(UINT64_MAX), options.max_memory[i]);
        }
        division_ = split::fill(layers, rooms);
    }
    runtime->notify_once(text_of(layers, *division_, places), key_of(*model, *division_));
    std::vector<plan::Backend *> backends;
    for (const Place &place : places) backends.push_back(place.backend.get());
    split = std::make_unique<split::SplitBackend>(std::move(backends), std::move(layers), *division_, flows);
}

void SessionState::find_lost() {
    if (split && split->lost()) places[*split->lost()].lost = true;
    if (beside) // which could not reopen it
        for (size_t i = 0; i < places.size(); ++i)
            if (beside->places[i].lost) places[i].lost = true;
}

void SessionState::let_go() {
    find_lost();
    const bool known = std::ranges::any_of(places, &Place::lost);
    programs = {};
    cached = {};
    decoding = nullptr;
    roomy = 0;
    split.reset();
    bool of_others = false;
    for (size_t i = 0; i < places.size(); ++i) {
        Place &place = places[i];
        if (known && !std::exchange(place.lost, false)) continue;
        if (beside && beside->places[i].backend == place.backend) beside->places[i].lost = of_others = true;
        place.backend.reset();
        place.admission.reset();
        runtime->forget(place.device, std::exchange(place.opened, nullptr));
    }
    if (of_others) beside->let_go();
}

void SessionState::recover(const Error &lost) {
    find_lost();
    std::string which;
    for (const Place &place : places)
        if (place.lost) which += (which.empty() ? "" : ", ") + place.device.id;
    if (const auto &notify = runtime->options.notify)
        notify((which.empty() ? device.id : which) + " was lost; Lamina reopens it and restarts the work (" +
               lost.what() + ")");
    let_go();
    try {
        connect();
    } catch (const Error &e) {
        if (e.code() == ErrorCode::device_lost) let_go();
        throw Error(ErrorCode::device_lost, std::string(lost.what()) + " It could not be reopened: " + e.what());
    }
}

} // namespace lamina::detail
