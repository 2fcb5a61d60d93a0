#include "generation/slots.hpp"

#include "generation/draft.hpp"
#include "generation/generation_shapes.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <utility>

namespace lamina::generation {
namespace {

double since(std::chrono::steady_clock::time_point began) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

} // namespace

bool Slots::reuses(const Search &search) { return search.task().options->reuse && !search.whole(0).empty(); }

Slots::Slots(detail::SessionState &session, const Shape &shape) : session_(session), shape_(shape) {
    if (session.draft != nullptr)
        source_ = std::make_unique<Draft>(session.draft);
    else
        source_ = std::make_unique<RepeatedTokens>();
}

void Slots::add(uint64_t id, Search search, Owner owner) { waiting_.push_back(owner, {id, owner, std::move(search)}); }

void Slots::prepare() {
    if (session_.model->generation->encode.empty()) session_.surviving_loss([&] { make_decoder(); });
}

bool Slots::cancel(uint64_t id) {
    if (waiting_.remove_if([&](const Text &text) { return text.id == id; })) return true;
    const auto slot = std::ranges::find_if(slots_, [&](const auto &text) { return text && text->id == id; });
    if (slot == slots_.end()) return false;
    slot->reset();
    return true;
}

size_t Slots::running() const {
    return static_cast<size_t>(std::ranges::count_if(slots_, [](const auto &text) { return text.has_value(); }));
}

Turns<Slots::Text>::Busy Slots::running_of(const Owner &owner) const {
    Turns<Text>::Busy out;
    for (const auto &text : slots_) {
        if (!text || text->owner.client != owner.client) continue;
        ++out.first;
        if (text->owner == owner) ++out.second;
    }
    const bool last = running() + 1 == slots_.size();
    if (last && out.second != 0) out.first += slots_.size(); // it is for those that have none
    return out;
}

std::span<Slots::Progress> Slots::step() {
    if (std::exchange(told_, false)) progress_.clear();
    session_.surviving_loss([&] {
        try {
            seat();
            if (is_running()) advance();
        } catch (...) { // texts that go on tell more when the work is done again; those that have ended do not
            std::erase_if(progress_, [](const Progress &each) { return !each.found && !each.failed; });
            withdraw();
            throw;
        }
    });
    told_ = true;
    return progress_;
}

// What the caches hold is not known any more: all texts wait for a slot again, the first ones first.
void Slots::withdraw() {
    decoder_.reset();
    for (size_t i = slots_.size(); i-- > 0;)
        if (slots_[i]) waiting_.push_front(slots_[i]->owner, std::move(*slots_[i]));
    slots_.clear();
}

void Slots::seat() {
    if (decoder_ != nullptr && !decoder_->holds_caches()) withdraw();
    if (waiting_.empty()) return;
    if (!session_.model->generation->encode.empty()) return seat_together();
    if (decoder_ == nullptr) make_decoder();
    while (!waiting_.empty() && running() < slots_.size() && !keeps_the_last()) take_slot(take_next());
}

// The last of several slots is for a request that has none, so that one for many texts keeps no other out.
bool Slots::keeps_the_last() const {
    constexpr size_t several = 4;
    if (slots_.size() < several || running() + 1 < slots_.size()) return false;
    const Owner next = waiting_.next([this](const Owner &owner) { return running_of(owner); });
    return next.request != 0 && running_of(next).second != 0;
}

// As many as there are slots for, when the ones before have ended.
void Slots::seat_together() {
    if (is_running()) return;
    slots_.clear();
    while (!waiting_.empty() && slots_.size() < shape_.texts) slots_.emplace_back(take_next());
    for (bool made = false; !made;) { // where there is no memory for all of them, half go first
        std::vector<Source> sources;
        for (const auto &text : slots_) sources.push_back(text->search.task().source);
        try {
            make_decoder(sources);
            made = true;
        } catch (const Error &e) {
            if (e.code() != ErrorCode::memory) throw;
            if (slots_.size() == 1) return fail(0, length_of(sources.front()), e);
            for (const size_t rest = slots_.size() / 2; slots_.size() > rest; slots_.pop_back())
                waiting_.push_front(slots_.back()->owner, std::move(*slots_.back()));
        }
    }
    for (size_t i = 0; i < slots_.size(); ++i) begin(i, false);
}

void Slots::make_decoder(const std::vector<Source> &sources) {
    const size_t texts = sources.empty() ? shape_.texts : sources.size();
    decoder_.reset(); // its caches go to the next
    Decoder::Shape shape{.rows = texts * shape_.beams,
                         .length = shape_.length,
                         .cached = shape_.cached,
                         .sure = shape_.sure,
                         .candidates = shape_.candidates};
    if (shape_.narrow) {
        shape.narrow = true;
        shape.smaller = "fewer slots (--slots), shorter texts (--context), --cache f16 or q8_0";
    }
    decoder_ = std::make_unique<Decoder>(session_, sources, shape);
    slots_.resize(texts);
    used_.assign(texts, 0);
    progress_.reserve(texts);
    readers_.reserve(texts);
}

Slots::Text Slots::take_next() {
    return waiting_.take([&](const Owner &owner) { return running_of(owner); });
}

// One whose caches the text can go on from, at the cost of less than that; else the one used longest ago.
size_t Slots::free_slot_for(const Search &search) const {
    const std::span<const int32_t> tokens = search.whole(0);
    const auto value = [&](size_t slot) {
        const size_t row = slot * shape_.beams;
        const size_t common = reuses(search) ? decoder_->common(row, tokens) : 0;
        return 2 * common > decoder_->taken(row) ? common : 0;
    };
    size_t best = slots_.size(), most = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i]) continue;
        const size_t found = value(i);
        if (best == slots_.size() || found > most || (found == most && used_[i] < used_[best])) best = i, most = found;
    }
    return best;
}

void Slots::take_slot(Text text) {
    const size_t best = free_slot_for(text.search);
    for (const auto &other : slots_) {
        if (!other || other->owner.client != text.owner.client) continue;
        text.turn.first = other->turn.first;
        if (other->owner == text.owner) text.turn.second = other->turn.second;
    }
    slots_[best].emplace(std::move(text));
    begin(best, reuses(slots_[best]->search));
}

void Slots::begin(size_t slot, bool reuse) {
    Search &search = slots_[slot]->search;
    search.begin(decoder_->begin(slot * shape_.beams, shape_.beams, search.whole(0), reuse));
}

// Texts move to the first slots, if fewer rows can be computed then.
void Slots::close_up() {
    const size_t beams = shape_.beams;
    const auto end = std::ranges::find_if(slots_.rbegin(), slots_.rend(), [](const auto &text) { return !!text; });
    const auto slots = static_cast<size_t>(slots_.rend() - end);
    const size_t enough = rounded_rows(running() * beams) / beams;
    if (enough >= slots) return;
    parents_.resize(slots_.size() * beams);
    std::iota(parents_.begin(), parents_.end(), 0);
    for (size_t from = enough, to = 0; from < slots; ++from) {
        if (!slots_[from]) continue;
        while (slots_[to]) ++to;
        slots_[to].emplace(std::move(*slots_[from]));
        slots_[from].reset();
        for (size_t b = 0; b < beams; ++b) {
            if (used_[to] != 0)
                decoder_->trade(to * beams + b, from * beams + b);
            else
                parents_[to * beams + b] = static_cast<int32_t>(from * beams + b);
        }
        std::swap(used_[to], used_[from]);
    }
    decoder_->reorder(parents_);
}

// Whether there is a text that its candidates cannot decide.
bool Slots::needs_all_scores() const {
    return std::ranges::any_of(slots_, [&](const auto &text) {
        const size_t needed = text ? text->search.candidates() : shape_.candidates;
        return needed == 0 || needed > shape_.candidates;
    });
}

// Caches are as long as the longest text needs them. The others can go on without it.
void Slots::fail_longest(const Error &why) {
    size_t longest = 0;
    for (size_t i = 1; i < slots_.size(); ++i)
        if (tokens_at(i) > tokens_at(longest)) longest = i;
    fail(longest, tokens_at(longest), why);
}

// Of the text in a slot, with this step.
size_t Slots::tokens_at(size_t slot) const {
    if (!slots_[slot]) return 0;
    const Search &search = slots_[slot]->search;
    return search.whole(0).size() - search.next(0).size() + tokens_[slot * shape_.beams].size();
}

void Slots::fail(size_t slot, size_t tokens, const Error &why) {
    const std::string what = "no memory for a text of " + std::to_string(tokens) + " tokens: ";
    progress_.push_back(
        {.id = slots_[slot]->id, .tokens = {}, .found = {}, .failed = Error(ErrorCode::memory, what + why.what())});
    slots_[slot].reset();
    withdraw();
}

// A text that is written alone is guessed ahead.
void Slots::look_ahead() {
    constexpr size_t usual = 15; // tokens, with a draft
    ahead_.clear();
    if (running() != 1 || !slots_.front() || shape_.beams != 1 || tokens_.front().size() != 1) return;
    const Search &search = slots_.front()->search;
    const size_t wanted = search.task().options->guess_ahead;
    const size_t most = guesses_.count(wanted == 0 && session_.draft != nullptr ? usual : wanted);
    if (most == 0 || !decoder_->may_check(1 + most) || !guesses_.pay()) return;
    Ids guess = source_->guess(search.whole(0), most);
    const auto is_other = [this](int32_t id) { return id < 0 || static_cast<size_t>(id) >= decoder_->vocabulary(); };
    guess.erase(std::ranges::find_if(guess, is_other), guess.end()); // a draft may have more tokens
    if (guess.empty()) return;
    ahead_.push_back(tokens_.front().front());
    ahead_.insert(ahead_.end(), guess.begin(), guess.end());
}

// One text alone. Nobody is to find what the caches hold of it.
void Slots::fail_text(size_t slot, const Error &why) {
    progress_.push_back({.id = slots_[slot]->id, .tokens = {}, .found = {}, .failed = why});
    slots_[slot].reset();
    (void)decoder_->begin(slot * shape_.beams, shape_.beams, {}, false);
}

std::span<const Scores> Slots::compute() {
    const bool is_token = running() == 1 && slots_.front() && tokens_.front().size() == 1; // no prompt
    score_prompts();
    if (!ahead_.empty()) return decoder_->check(ahead_);
    const auto scores = decoder_->step(tokens_, needs_all_scores());
    pace_.took(since(began_), read_, others_write_);
    if (is_token) guesses_.step(since(began_));
    return scores;
}

// Goes on as far as the text is what was guessed.
void Slots::accept(Search &search, std::span<const Scores> scores, std::span<int32_t> parents) {
    const size_t before = search.whole(0).size();
    size_t accepted = 0;
    do {
        search.advance(scores.subspan(accepted++, 1), parents);
    } while (accepted < ahead_.size() && !search.done() && search.whole(0).size() == before + accepted &&
             search.whole(0).back() == ahead_[accepted]);
    decoder_->keep(0, before - 1 + accepted);
    const size_t guessed = ahead_.size() - 1;
    search.guess(guessed, accepted - 1);
    guesses_.check(since(began_), guessed, accepted);
}

void Slots::advance() {
    ++steps_;
    const size_t beams = shape_.beams, rows = slots_.size() * beams;
    if (shape_.narrow) close_up();
    tokens_.assign(rows, {});
    for (size_t r = 0; r < rows; ++r)
        if (slots_[r / beams]) tokens_[r] = slots_[r / beams]->search.next(r % beams);
    divide_prompts();
    began_ = std::chrono::steady_clock::now(); // guesses take time, too
    look_ahead();
    std::span<const Scores> scores;
    try {
        scores = compute();
    } catch (const Error &e) {
        if (e.code() != ErrorCode::memory) throw;
        return scored_ ? fail(*scored_, tokens_at(*scored_), e) : fail_longest(e);
    }

    parents_.resize(rows);
    std::iota(parents_.begin(), parents_.end(), 0);
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (!slots_[i]) continue;
        Search &search = slots_[i]->search;
        used_[i] = reuses(search) ? steps_ : 0;
        if (reading_[i]) {
            search.feed(tokens_[i * beams].size());
            continue;
        }
        const std::span<int32_t> mine = std::span(parents_).subspan(i * beams, beams);
        std::iota(mine.begin(), mine.end(), 0); // as the search counts its beams
        Progress &progress = progress_.emplace_back();
        progress.id = slots_[i]->id;
        progress.row = i * beams;
        progress.reused = search.reused();
        try {
            if (ahead_.empty())
                search.advance(scores.subspan(i * beams, beams), mine);
            else
                accept(search, scores, mine);
            progress.tokens = search.tokens();
            progress.scores = search.scores();
            progress.prompt_scores = search.prompt_scores();
            if (search.done()) {
                progress.found = search.take();
                progress.tokens = progress.found->empty() ? std::span<const int32_t>() : progress.found->front().tokens;
                if (!progress.found->empty()) {
                    progress.scores = progress.found->front().scores;
                    progress.prompt_scores = progress.found->front().prompt_scores;
                }
            }
        } catch (const Error &e) { // of this text alone, unless the device is lost
            if (e.code() == ErrorCode::device_lost) throw;
            progress.failed = e;
            (void)decoder_->begin(i * beams, beams, {}, false); // nobody is to find what the caches hold of it
        }
        if (progress.found || progress.failed) {
            std::iota(mine.begin(), mine.end(), 0); // the rows keep what they have, for texts that begin like this one
            slots_[i].reset();
        }
        for (int32_t &parent : mine) parent += static_cast<int32_t>(i * beams);
    }
    decoder_->reorder(parents_);
}

} // namespace lamina::generation
