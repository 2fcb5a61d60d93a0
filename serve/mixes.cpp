#include "mixes.hpp"

#include "refusal.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

namespace lamina::serve {
namespace {

constexpr size_t most_mixes = 4;

bool same(const std::vector<Adapter> &a, const std::vector<Adapter> &b) {
    return std::ranges::equal(
        a, b, [](const Adapter &x, const Adapter &y) { return x.path == y.path && x.scale == y.scale; });
}

} // namespace

std::shared_ptr<Engine> Mixes::find(const Engine &parent, const std::vector<Adapter> &adapters) {
    List dropped;
    const std::scoped_lock lock(mutex_);
    dropped = take_unused(std::mem_fn(&Mix::old));
    for (const std::shared_ptr<Mix> &each : all_) {
        if (each->old || each->parent.get() != &parent || !same(each->adapters, adapters)) continue;
        each->used = ++uses_;
        return engine_of(each);
    }
    return nullptr;
}

std::shared_ptr<Engine> Mixes::add(
    std::shared_ptr<Engine> parent, const std::vector<Adapter> &adapters,
    const std::function<std::unique_ptr<Engine>(const Engine &parent, const std::vector<Adapter> &adapters)> &make) {
    make_room();
    const auto mix = std::make_shared<Mix>();
    mix->engine = make(*parent, adapters);
    mix->parent = std::move(parent);
    mix->adapters = adapters;
    const std::scoped_lock lock(mutex_);
    mix->used = ++uses_;
    all_.push_back(mix);
    return engine_of(mix);
}

// What is dropped ends here, without the lock.
void Mixes::make_room() {
    std::shared_ptr<Mix> dropped;
    const std::scoped_lock lock(mutex_);
    if (all_.size() < most_mixes) return;
    auto oldest = all_.end();
    for (auto each = all_.begin(); each != all_.end(); ++each)
        if (each->use_count() == 1 && (oldest == all_.end() || (*each)->used < (*oldest)->used)) oldest = each;
    if (oldest == all_.end())
        throw Refusal(503,
                      "request: /lora: " + std::to_string(most_mixes) +
                          " other mixes of adapters are in use, as many as there may be; ask again later",
                      "lora");
    dropped = std::move(*oldest);
    all_.erase(oldest);
}

template <class Such> Mixes::List Mixes::take_unused(const Such &such) {
    List out;
    for (auto each = all_.begin(); each != all_.end();) {
        const auto next = std::next(each);
        if (each->use_count() == 1 && such(**each)) out.splice(out.end(), all_, each);
        each = next;
    }
    return out;
}

void Mixes::forget(const Engine &parent) {
    List dropped;
    const std::scoped_lock lock(mutex_);
    dropped = take_unused([&](const Mix &mix) { return mix.parent.get() == &parent; });
}

void Mixes::forget(const std::filesystem::path &adapter) {
    List dropped;
    const std::scoped_lock lock(mutex_);
    for (const std::shared_ptr<Mix> &each : all_)
        if (std::ranges::find(each->adapters, adapter, &Adapter::path) != each->adapters.end()) each->old = true;
    dropped = take_unused(std::mem_fn(&Mix::old));
}

bool Mixes::drop_unused() {
    List dropped;
    const std::scoped_lock lock(mutex_);
    dropped = take_unused([](const Mix &) { return true; });
    return !dropped.empty();
}

std::vector<std::shared_ptr<Engine>> Mixes::all() {
    List dropped;
    const std::scoped_lock lock(mutex_);
    dropped = take_unused(std::mem_fn(&Mix::old));
    std::vector<std::shared_ptr<Engine>> out;
    for (const std::shared_ptr<Mix> &each : all_) out.push_back(engine_of(each));
    return out;
}

} // namespace lamina::serve
