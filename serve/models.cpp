#include "models.hpp"

#include "refusal.hpp"

#include "base/nearest.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace lamina::serve {
namespace {

std::set<std::string> ids_of(const Device &device) {
    if (device.parts.empty()) return {device.id};
    std::set<std::string> out;
    for (const Device &part : device.parts) out.insert(part.id);
    return out;
}

bool share_a_device(const Device &a, const Device &b) {
    const std::set<std::string> of_a = ids_of(a);
    return std::ranges::any_of(ids_of(b), [&](const std::string &id) { return of_a.contains(id); });
}

} // namespace

std::string_view name_of(Models::State state) {
    switch (state) {
    case Models::State::unloaded:
        return "unloaded";
    case Models::State::loading:
        return "loading";
    case Models::State::loaded:
        return "loaded";
    default:
        return "unloading";
    }
}

Models::Models(const Runtime &runtime, ModelsOptions options, Metrics &metrics)
    : runtime_(runtime), options_(std::move(options)), metrics_(metrics), thread_([this] { run(); }) {}

Models::~Models() {
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void Models::add(ServedModel model) {
    const std::scoped_lock lock(mutex_);
    entries_.push_back({std::move(model)});
}

const Engine &Models::load_now(const std::string &name) {
    Entry &entry = entry_called(name);
    std::shared_ptr<Engine> engine = engine_of(entry.model, open(entry.model));
    const Engine &out = *engine;
    change(entry, State::loaded, std::move(engine));
    return out;
}

std::vector<Models::Listed> Models::list() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Listed> out;
    for (const Entry &each : entries_) out.push_back({&each.model, each.state, each.failure, each.engine});
    return out;
}

std::vector<std::shared_ptr<Engine>> Models::loaded() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::shared_ptr<Engine>> out;
    for (const Entry &each : entries_)
        if (each.engine != nullptr) out.push_back(each.engine);
    return out;
}

std::vector<std::shared_ptr<Engine>> Models::engines() {
    std::vector<std::shared_ptr<Engine>> out = loaded();
    std::ranges::move(mixes_.all(), std::back_inserter(out));
    return out;
}

// Names do not change while requests are answered, so this needs no lock.
Models::Entry &Models::entry_called(std::string_view name) const {
    std::vector<std::string> names;
    for (Entry &each : entries_) {
        if (each.model.name == name || std::ranges::count(each.model.aliases, name) != 0) return each;
        names.push_back(each.model.name);
        std::ranges::copy(each.model.aliases, std::back_inserter(names));
    }
    throw Refusal(404, "there is no model '" + std::string(name) + "'" + instead_of(name, names), "model",
                  "model_not_found");
}

const std::string &Models::name_of(std::string_view alias) const { return entry_called(alias).model.name; }

std::shared_ptr<Engine> Models::find(std::string_view name) {
    Entry &entry = entry_called(name);
    const std::scoped_lock lock(mutex_);
    entry.used = ++uses_;
    if (!entry.model.parent.empty()) entry_called(entry.model.parent).used = uses_;
    return entry.engine;
}

void Models::load(std::string_view name) { ask(name, true); }

void Models::unload(std::string_view name) { ask(name, false); }

void Models::load_for_request(std::string_view name) {
    const Entry &entry = entry_called(name);
    {
        const std::scoped_lock lock(mutex_);
        if (!entry.failure.empty() && std::chrono::steady_clock::now() < entry.again) return;
    }
    load(name);
}

void Models::ask(std::string_view name, bool load) {
    Entry &entry = entry_called(name);
    const std::scoped_lock lock(mutex_);
    for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job) // the last word counts
        if (job->entry == &entry) {
            if (job->load == load) return;
            jobs_.push_back({&entry, load});
            ++entry.pending;
            return;
        }
    if (running_.entry == &entry && running_.load == load) return;
    jobs_.push_back({&entry, load});
    ++entry.pending;
    changed_.notify_all();
}

std::optional<std::shared_ptr<Engine>> Models::wait(std::string_view name,
                                                    std::chrono::steady_clock::time_point until) {
    Entry &entry = entry_called(name);
    std::unique_lock lock(mutex_);
    ++entry.waiting;
    const bool over = changed_.wait_until(lock, until, [&] { return entry.engine != nullptr || entry.pending == 0; });
    std::optional<std::shared_ptr<Engine>> out;
    if (over) out = entry.engine;
    --entry.waiting;
    changed_.notify_all();
    return out;
}

void Models::run() {
    while (true) {
        Job job{};
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
            if (ending_) return;
            job = jobs_.front();
            jobs_.pop_front();
            running_ = job;
        }
        job.load ? do_load(*job.entry) : do_unload(*job.entry);
        std::unique_lock lock(mutex_);
        running_ = {};
        --job.entry->pending;
        changed_.notify_all();
        // Whoever has waited for the model takes it before the next one may need its place.
        changed_.wait_for(lock, std::chrono::seconds(1), [&] { return ending_ || job.entry->waiting == 0; });
    }
}

void Models::change(Entry &entry, State state, std::shared_ptr<Engine> engine, const std::string &failure) {
    const std::scoped_lock lock(mutex_);
    entry.state = state;
    entry.engine = std::move(engine);
    entry.failure = failure;
    if (state == State::loaded) entry.used = ++uses_;
    changed_.notify_all();
}

void Models::do_load(Entry &entry) {
    {
        const std::scoped_lock lock(mutex_);
        if (entry.engine != nullptr) return;
    }
    const auto began = std::chrono::steady_clock::now();
    change(entry, State::loading);
    std::vector<Entry *> unloaded;
    try {
        const Opened files = open(entry.model); // nothing is unloaded for files that cannot be read
        if (!entry.model.parent.empty())
            do_load(entry_called(entry.model.parent));
        else
            unloaded = make_room();
        change(entry, State::loaded, engine_of(entry.model, files));
        return;
    } catch (const std::exception &why) {
        change(entry, State::unloaded, nullptr, why.what());
        options_.log("error: " + entry.model.name + " could not be loaded: " + why.what());
    }
    for (Entry *each : unloaded) do_load(*each);
    // A model that does not run takes the places of others while it is tried: a tenth of the time at most.
    constexpr std::chrono::steady_clock::duration pause = std::chrono::seconds(10), longest = std::chrono::minutes(5);
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock(mutex_);
    entry.again = now + std::clamp(9 * (now - began), pause, longest);
}

void Models::do_unload(Entry &entry) {
    if (!entry.model.parent.empty()) // mixes may have it, whether it is loaded by itself or not
        for (const Adapter &adapter : entry.model.adapters) mixes_.forget(adapter.path);
    std::shared_ptr<Engine> engine;
    {
        const std::scoped_lock lock(mutex_);
        engine = entry.engine;
    }
    if (engine == nullptr) return;
    for (Entry &each : entries_)
        if (each.model.parent == entry.model.name) do_unload(each);
    change(entry, State::unloading);
    constexpr std::chrono::milliseconds often{20};
    while (engine.use_count() > 1) { // its requests; nobody can find it any more
        mixes_.forget(*engine);
        std::this_thread::sleep_for(often);
    }
    engine.reset();
    change(entry, State::unloaded);
}

// Returns what it has unloaded, parents first.
std::vector<Models::Entry *> Models::make_room() {
    std::vector<Entry *> out;
    while (options_.most != 0) {
        Entry *oldest = nullptr;
        {
            const std::scoped_lock lock(mutex_);
            size_t loaded = 0;
            for (Entry &each : entries_) {
                if (each.engine == nullptr || !each.model.parent.empty()) continue;
                ++loaded;
                if (oldest == nullptr || each.used < oldest->used) oldest = &each;
            }
            if (loaded < options_.most) break;
            out.push_back(oldest);
            for (Entry &each : entries_)
                if (each.engine != nullptr && each.model.parent == oldest->model.name) out.push_back(&each);
        }
        do_unload(*oldest);
    }
    return out;
}

// Reads and checks files. An adapter's are read with its parent.
Models::Opened Models::open(const ServedModel &model) {
    Opened out;
    if (model.parent.empty()) out.model = model.open();
    if (model.draft) out.draft = model.draft();
    return out;
}

// Bytes that caches may take.
uint64_t Models::promised_on(const Device &device) {
    uint64_t out = 0;
    for (const std::shared_ptr<Engine> &each : engines())
        if (share_a_device(each->device(), device)) out += each->room().caches;
    return out;
}

std::shared_ptr<Engine> Models::mix(const Engine &parent, const std::vector<Adapter> &adapters) {
    return mixes_.find(parent, adapters);
}

std::shared_ptr<Engine> Models::mixed(const std::shared_ptr<Engine> &parent, const std::vector<Adapter> &adapters) {
    if (auto found = mixes_.find(*parent, adapters)) return found;
    const auto make = [this](const Engine &of, const std::vector<Adapter> &with) {
        const Engine::Options options{.session = {},
                                      .batch = options_.batch,
                                      .promised = promised_on(of.device()),
                                      .parent = &of,
                                      .adapters = with};
        return std::make_unique<Engine>(of.name(), runtime_, of.model(), of.device(), options, metrics_);
    };
    return mixes_.add(parent, adapters, [&](const Engine &of, const std::vector<Adapter> &with) {
        auto out = make(of, with);
        if (out->room().whole || !mixes_.drop_unused()) return out;
        out.reset();
        return make(of, with);
    });
}

std::shared_ptr<Engine> Models::engine_of(const ServedModel &model, const Opened &files) {
    const std::shared_ptr<Engine> parent = model.parent.empty() ? nullptr : find(model.parent);
    if (parent == nullptr && !model.parent.empty())
        throw Error(ErrorCode::failure, model.parent + ", whose weights it needs, is not loaded");
    const Device &device = parent == nullptr ? model.device : parent->device();
    mixes_.drop_unused(); // whose memory counts for this
    const Engine::Options options{.session = model.session,
                                  .batch = options_.batch,
                                  .smaller_caches = options_.smaller_caches,
                                  .promised = promised_on(device),
                                  .parent = parent.get(),
                                  .adapters = model.adapters,
                                  .draft = files.draft};
    return std::make_shared<Engine>(model.name, runtime_, parent == nullptr ? files.model.value() : parent->model(),
                                    device, options, metrics_);
}

} // namespace lamina::serve
