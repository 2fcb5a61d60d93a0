// lamina::Batch.
#include <lamina/batch.hpp>

#include "api/access.hpp"
#include "generation/answer.hpp"
#include "generation/choices.hpp"
#include "generation/generation.hpp"
#include "generation/room.hpp"
#include "generation/slots.hpp"
#include "generation/stop.hpp"
#include "generation/texts.hpp"

#include <algorithm>
#include <mutex>

namespace lamina {
namespace {

void check_options_of_batch(const GenerateOptions &o) {
    generation::check_options(o);
    const auto refuse = [](const std::string &what) {
        throw Error(ErrorCode::usage, what + ": expected the default, because the text is one of a batch");
    };
    if (o.beams.value_or(1) != 1) refuse("beams");
    if (!o.cached) refuse("cached");
    if (o.progress) refuse("progress");
    if (o.stream) refuse("stream");
    if (o.failed) refuse("failed");
}

} // namespace

namespace detail {

struct BatchState {
    BatchState(const Session &s, const BatchOptions &options)
        : session(s), of_session(Access::state(session)), positions(generation::longest_target(*of_session.model)),
          length(options.length == 0 ? positions : std::min(static_cast<size_t>(options.length), positions)),
          longest_source(options.length == 0 ? SIZE_MAX : static_cast<size_t>(options.length)),
          slots(std::in_place, of_session,
                generation::Slots::Shape{.texts = options.slots,
                                         .length = length,
                                         .candidates = generation::Search::candidates(
                                             *of_session.model, generation::resolved(*of_session.model, {}, true)),
                                         .parts = true,
                                         .narrow = of_session.model->generation->encode.empty()}) {}
    BatchState(const BatchState &) = delete;
    BatchState &operator=(const BatchState &) = delete;
    ~BatchState() {
        try {
            const std::scoped_lock turn(of_session.turn);
            slots.reset();
        } catch (const Error &) { // this thread has the turn: a callback destroys the batch
            slots.reset();
        }
    }

    struct Text {
        Text(const model::Model &model, generation::Source s, std::shared_ptr<const GenerateOptions> o)
            : source(std::move(s)), options(std::move(o)),
              answer(model, source, generation::stops_of(model, *options), !options->skip_special_tokens) {}
        generation::Source source;
        std::shared_ptr<const GenerateOptions> options;
        generation::Answer answer;
    };

    // Of options that are as a batch needs them.
    uint64_t add(generation::Source source, const GenerateOptions &options, const BatchOwner &owner);

    Session session;
    SessionState &of_session;
    size_t positions, length;               // tokens that a text may have: in the model, and here
    size_t longest_source;                  // tokens that an encoder may be given
    std::optional<generation::Slots> slots; // of whoever has the session's turn

    std::mutex mutex; // of what follows; never held for long
    uint64_t last_id = 0;
    std::map<uint64_t, std::unique_ptr<Text>> texts; // that have not ended
    struct Arrived {
        uint64_t id;
        Owner owner;
        generation::Search search;
    };
    std::vector<Arrived> arrived;
    std::vector<uint64_t> cancelled;
};

} // namespace detail

namespace {

void expect_texts(const model::Model &model, const BatchOptions &options) {
    if (!model.generation || !model.generation->takes_texts())
        throw Error(ErrorCode::input, model.folder.string() + ": expected a model that continues or translates texts");
    if (options.slots < 1 || options.length < 0)
        throw Error(ErrorCode::usage, "a batch: expected at least one slot, and a length of 0 or above; found " +
                                          std::to_string(options.slots) + " and " + std::to_string(options.length));
}

} // namespace

BatchRoom room_for(const Session &session, const BatchOptions &wanted, uint64_t promised) {
    Session copy = session;
    detail::SessionState &state = detail::Access::state(copy);
    expect_texts(*state.model, wanted);
    const size_t positions = generation::longest_target(*state.model);
    if (!state.model->generation->encode.empty())
        return {wanted.slots, wanted.length == 0 ? static_cast<int64_t>(positions) : wanted.length};
    const size_t length = wanted.length == 0 ? positions : std::min(static_cast<size_t>(wanted.length), positions);
    const std::scoped_lock turn(state.turn);
    const generation::Room room = generation::room_for(state, wanted.slots, length, promised);
    const bool whole = room.texts == wanted.slots && room.length == length;
    return {room.texts, static_cast<int64_t>(room.length), whole, room.caches};
}

Batch::Batch(const Session &session, const BatchOptions &options) {
    Session copy = session;
    expect_texts(*detail::Access::state(copy).model, options);
    state_ = std::make_shared<detail::BatchState>(session, options);
    const std::scoped_lock turn(state_->of_session.turn);
    state_->slots->prepare();
}

uint64_t Batch::add(const std::string &text, const GenerateOptions &options, const BatchOwner &owner) {
    check_options_of_batch(options);
    const detail::SessionState &session = state_->of_session;
    return state_->add(generation::tokenize(*session.model, *session.runtime->plugins, {text}, options).front(),
                       options, owner);
}

uint64_t Batch::add_ids(const std::vector<int32_t> &ids, const GenerateOptions &options, const BatchOwner &owner) {
    check_options_of_batch(options);
    const detail::SessionState &session = state_->of_session;
    std::vector<int32_t> source = ids;
    generation::chosen_tokens(*session.model, options).put_into(source);
    generation::expect_ids(*session.model, *session.runtime->plugins, source);
    return state_->add(std::move(source), options, owner);
}

uint64_t detail::BatchState::add(generation::Source source, const GenerateOptions &options, const BatchOwner &owner) {
    const model::Model &model = *of_session.model;
    const auto refuse_length = [](size_t found, size_t most) {
        throw Error(ErrorCode::input, "a text of " + std::to_string(found) + " tokens: expected at most " +
                                          std::to_string(most) + ", the length that the batch was made for");
    };
    if (!model.generation->encode.empty()) {
        const size_t found = generation::length_of(source);
        if (found == 0) throw Error(ErrorCode::input, "an empty text has no answer");
        if (found > longest_source) refuse_length(found, longest_source);
    }
    const auto shared = std::make_shared<const GenerateOptions>(generation::resolved(model, options, true));
    generation::Task task = generation::task_of(model, source, options.first, length, shared);
    task.images = generation::images_of(of_session, source);
    if (task.prefix.size() > length) refuse_length(task.prefix.size(), length);
    generation::Search search(model, std::move(task));
    auto added = std::make_unique<Text>(model, std::move(source), shared);
    const std::scoped_lock lock(mutex);
    const uint64_t id = ++last_id;
    texts.emplace(id, std::move(added));
    arrived.push_back({id, {owner.client, owner.request}, std::move(search)});
    return id;
}

bool Batch::cancel(uint64_t id) {
    const std::scoped_lock lock(state_->mutex);
    if (state_->texts.erase(id) == 0) return false;
    state_->cancelled.push_back(id);
    return true;
}

bool Batch::empty() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->texts.empty();
}

std::vector<Batch::Slot> Batch::slots() const {
    const std::scoped_lock turn(state_->of_session.turn);
    std::vector<Slot> out;
    for (const auto &[id, tokens] : state_->slots->held()) out.push_back({id, tokens});
    return out;
}

std::vector<Batch::Progress> Batch::step() {
    const std::scoped_lock turn(state_->of_session.turn);
    generation::Slots &slots = *state_->slots;
    {
        const std::scoped_lock lock(state_->mutex);
        for (auto &[id, owner, search] : std::exchange(state_->arrived, {})) slots.add(id, std::move(search), owner);
        for (const uint64_t id : std::exchange(state_->cancelled, {})) (void)slots.cancel(id);
    }
    const std::span<generation::Slots::Progress> found = slots.step();
    std::vector<Progress> out;
    out.reserve(found.size());
    const std::scoped_lock lock(state_->mutex);
    for (generation::Slots::Progress &progress : found) {
        const auto text = state_->texts.find(progress.id);
        if (text == state_->texts.end()) continue; // cancelled during the step
        if (progress.failed) {
            out.push_back({progress.id, "", std::nullopt, std::move(progress.failed)});
            state_->texts.erase(text);
            continue;
        }
        generation::Answer &answer = text->second->answer;
        out.push_back({progress.id, answer.grow(progress.tokens, progress.found.has_value()), {}, {}});
        Progress &to = out.back();
        to.scores = answer.more(progress.scores);
        to.prompt_scores = answer.prompt(progress.prompt_scores);
        if (!progress.found) continue;
        to.finished = answer.hypothesis(progress.found->front(), progress.reused);
        state_->texts.erase(text);
    }
    return out;
}

} // namespace lamina
