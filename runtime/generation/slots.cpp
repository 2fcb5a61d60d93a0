#include "generation/slots.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace lamina::generation {

void Slots::add(uint64_t id, Task task) { waiting_.push_back({id, Search(*session_.model, std::move(task))}); }

void Slots::prepare() {
    if (session_.model->generation->encode.empty()) session_.surviving_loss([&] { make_decoder(); });
}

bool Slots::cancel(uint64_t id) {
    if (waiting_.remove_if([&](const Text &text) { return text.id == id; }) != 0) return true;
    const auto slot = std::ranges::find_if(slots_, [&](const auto &text) { return text && text->id == id; });
    if (slot == slots_.end()) return false;
    slot->reset();
    return true;
}

bool Slots::is_running() const {
    return std::ranges::any_of(slots_, [](const auto &text) { return text.has_value(); });
}

std::span<Slots::Progress> Slots::step() {
    session_.surviving_loss([&] {
        try {
            progress_.clear();
            seat();
            if (decoder_ != nullptr) advance();
        } catch (...) {
            withdraw();
            throw;
        }
    });
    return progress_;
}

// What the caches hold is not known any more: all texts wait for a slot again, the first ones first.
void Slots::withdraw() {
    decoder_.reset();
    for (size_t i = slots_.size(); i-- > 0;)
        if (slots_[i]) waiting_.push_front(std::move(*slots_[i]));
    slots_.clear();
}

void Slots::seat() {
    if (decoder_ != nullptr && !decoder_->holds_caches()) withdraw();
    const bool together = !session_.model->generation->encode.empty();
    if (waiting_.empty() || (together && is_running())) return;
    if (together || decoder_ == nullptr) make_decoder();
    while (!waiting_.empty() && !std::ranges::all_of(slots_, [](const auto &text) { return text.has_value(); })) {
        Text next = std::move(waiting_.front());
        waiting_.pop_front();
        take_slot(std::move(next));
    }
}

void Slots::make_decoder() {
    const bool encodes = !session_.model->generation->encode.empty();
    const size_t texts = encodes ? std::min(shape_.texts, waiting_.size()) : shape_.texts;
    std::vector<Source> sources;
    auto next = waiting_.cbegin();
    for (size_t i = 0; i < texts && encodes; ++i, ++next) sources.push_back(next->search.task().source);
    decoder_.reset(); // its caches go to the next
    decoder_ = std::make_unique<Decoder>(
        session_, sources,
        Decoder::Shape{texts * shape_.beams, shape_.length, shape_.cached, shape_.sure, shape_.candidates});
    slots_.clear();
    slots_.resize(texts);
    progress_.reserve(texts);
}

// The first free slot, or the one whose caches hold most of the text.
void Slots::take_slot(Text text) {
    const std::span<const int32_t> tokens = text.search.whole(0);
    const bool reuse =
        !tokens.empty() && text.search.task().options->reuse && session_.model->generation->encode.empty();
    size_t best = slots_.size(), most = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i]) continue;
        const size_t common = reuse ? decoder_->common(i * shape_.beams, tokens) : 0;
        if (best == slots_.size() || common > most) best = i, most = common;
    }
    text.search.begin(decoder_->begin(best * shape_.beams, shape_.beams, tokens, reuse));
    slots_[best].emplace(std::move(text));
}

// Whether there is a text that its candidates cannot decide.
bool Slots::needs_all_scores() const {
    return std::ranges::any_of(slots_, [&](const auto &text) {
        const size_t needed = text ? Search::candidates(*text->search.task().options) : shape_.candidates;
        return needed == 0 || needed > shape_.candidates;
    });
}

void Slots::advance() {
    const size_t beams = shape_.beams, rows = slots_.size() * beams;
    tokens_.assign(rows, {});
    for (size_t r = 0; r < rows; ++r)
        if (slots_[r / beams]) tokens_[r] = slots_[r / beams]->search.next(r % beams);
    // Texts that are being written do not wait for a long prompt: it is read in parts, between their tokens.
    const bool writing = shape_.cached && std::ranges::any_of(tokens_, [](const auto &ids) { return ids.size() == 1; });
    reading_.assign(slots_.size(), false);
    for (size_t r = 0; r < rows && writing; ++r) {
        if (tokens_[r].size() <= longest_block) continue;
        tokens_[r] = tokens_[r].first(longest_block);
        reading_[r / beams] = true;
    }
    const std::span<const Scores> scores = decoder_->step(tokens_, needs_all_scores());

    parents_.resize(rows);
    std::iota(parents_.begin(), parents_.end(), 0);
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (!slots_[i]) continue;
        Search &search = slots_[i]->search;
        if (reading_[i]) {
            search.feed(longest_block);
            continue;
        }
        const std::span<int32_t> mine = std::span(parents_).subspan(i * beams, beams);
        std::iota(mine.begin(), mine.end(), 0); // as the search counts its beams
        Progress &progress = progress_.emplace_back();
        progress.id = slots_[i]->id;
        progress.reused = search.reused();
        try {
            search.advance(scores.subspan(i * beams, beams), mine);
            progress.tokens = search.tokens();
            if (search.done()) {
                progress.found = search.take();
                progress.tokens = progress.found->empty() ? std::span<const int32_t>() : progress.found->front().tokens;
            }
        } catch (const NoAnswer &e) {
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
