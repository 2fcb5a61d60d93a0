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

std::vector<Slots::Progress> Slots::step() {
    return session_.surviving_loss([&] {
        try {
            seat();
            return decoder_ == nullptr ? std::vector<Progress>{} : advance();
        } catch (...) {
            withdraw();
            throw;
        }
    });
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
    decoder_ = std::make_unique<Decoder>(session_, sources,
                                         Decoder::Shape{texts * shape_.beams, shape_.length, shape_.cached, shape_.sure,
                                                        Search::candidates(shape_.beams)});
    slots_.clear();
    slots_.resize(texts);
}

// The first free slot, or the one whose caches hold most of the text.
void Slots::take_slot(Text text) {
    const Ids tokens = text.search.whole(0);
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

std::vector<Slots::Progress> Slots::advance() {
    const size_t beams = shape_.beams, rows = slots_.size() * beams;
    std::vector<Ids> tokens(rows);
    for (size_t r = 0; r < rows; ++r)
        if (slots_[r / beams]) tokens[r] = slots_[r / beams]->search.next(r % beams);
    // Texts that are being written do not wait for a long prompt: it is read in parts, between their tokens.
    const bool writing = shape_.cached && std::ranges::any_of(tokens, [](const Ids &ids) { return ids.size() == 1; });
    std::vector<bool> reading(slots_.size());
    for (size_t r = 0; r < rows && writing; ++r) {
        if (tokens[r].size() <= longest_block) continue;
        tokens[r].resize(longest_block);
        reading[r / beams] = true;
    }
    const std::span<const Scores> scores = decoder_->step(tokens);

    std::vector<Progress> out;
    Ids parents(rows);
    std::iota(parents.begin(), parents.end(), 0);
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (!slots_[i]) continue;
        Search &search = slots_[i]->search;
        if (reading[i]) {
            search.feed(longest_block);
            continue;
        }
        Ids mine(beams);
        std::iota(mine.begin(), mine.end(), 0);
        search.advance(scores.subspan(i * beams, beams), mine);
        for (size_t b = 0; b < beams; ++b) parents[i * beams + b] = static_cast<int32_t>(i * beams) + mine[b];
        out.push_back({slots_[i]->id, search.tokens(), std::nullopt, search.reused()});
        if (!search.done()) continue;
        out.back().found = search.take();
        if (!out.back().found->empty()) out.back().tokens = out.back().found->front().tokens;
        slots_[i].reset();
    }
    if (!std::is_sorted(parents.begin(), parents.end()) ||
        std::adjacent_find(parents.begin(), parents.end()) != parents.end())
        decoder_->reorder(parents); // something moved
    return out;
}

} // namespace lamina::generation
