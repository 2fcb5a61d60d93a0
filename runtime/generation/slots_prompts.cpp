// What a step reads of prompts: what they have in common with other texts, in parts, and how likely their tokens are.
#include "generation/slots.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace lamina::generation {
namespace {

// How many tokens a part of so many has if it ends with one of text: those of an image may have to stay together.
size_t ending_in_text(std::span<const int32_t> tokens, size_t count) {
    while (count != 0 && count < tokens.size() && tokens[count - 1] < 0) ++count;
    return count;
}

} // namespace

// What a prompt has in common with another text, beyond what it has itself.
void Slots::share(size_t slot) {
    constexpr size_t worthwhile = 16; // tokens
    Search &search = slots_[slot]->search;
    const size_t beams = shape_.beams, has = search.fed();
    if (!reuses(search) || !session_.model->generation->encode.empty()) return;
    if (beams > 1 && !search.tokens().empty()) return; // beams differ
    size_t from = slot, most = has;
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (i == slot) continue;
        const size_t common = decoder_->common(i * beams, search.whole(0));
        if (common > most) from = i, most = common;
    }
    if (most < has + worthwhile) return;
    decoder_->share(slot * beams, beams, from * beams, most);
    search.share(most - has);
    for (size_t b = 0; b < beams; ++b) tokens_[slot * beams + b] = search.next(b);
}

// Whether a text is being written that is of another request than a prompt among the readers.
bool Slots::writes_beside() const {
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (!slots_[i] || std::ranges::find(readers_, i) != readers_.end()) continue;
        for (const size_t reader : readers_)
            if (slots_[reader]->owner != slots_[i]->owner) return true;
    }
    return false;
}

// Texts that are being written do not wait long for prompts: a step reads a part of the next one, if it is its turn,
// and one token of each of the others. Short ones are read whole as far as they are no more than such a part together;
// the others rest.
void Slots::divide_prompts() {
    reading_.assign(slots_.size(), false);
    read_ = 0;
    if (!shape_.parts || !shape_.cached) return;
    readers_.clear();
    for (size_t i = 0; i < slots_.size(); ++i)
        if (slots_[i] && tokens_[i * shape_.beams].size() > 1) readers_.push_back(i);
    std::ranges::sort(readers_, {}, [&](size_t i) { return std::pair(slots_[i]->turn, slots_[i]->id); });
    constexpr size_t short_ones = 32; // tokens, for which nobody waits long
    others_write_ = writes_beside();
    const size_t part = readers_.empty() ? 0 : pace_.part(others_write_);
    const size_t room = part == 0 ? short_ones : part;
    for (const size_t i : readers_) {
        const size_t left = room - std::min(room, read_);
        if (left > 1) share(i);
        const size_t all = tokens_[i * shape_.beams].size();
        size_t now = left == part ? std::min(all, left) : all <= std::max<size_t>(left, 1) ? all : 0;
        if (session_.model->generation->sees_ahead()) now = ending_in_text(tokens_[i * shape_.beams], now);
        read_ += now <= 1 ? 0 : now;
        reading_[i] = now < all;
        for (size_t b = 0; b < shape_.beams; ++b) {
            auto &tokens = tokens_[i * shape_.beams + b];
            tokens = tokens.first(std::min(tokens.size(), now));
        }
        if (now > 1) take_turn(slots_[i]->owner);
    }
}

void Slots::take_turn(const Owner &owner) {
    ++turn_;
    for (auto &text : slots_) {
        if (!text || text->owner.client != owner.client) continue;
        text->turn.first = turn_;
        if (text->owner == owner) text->turn.second = turn_;
    }
}

// What this step reads of prompts whose tokens are to be scored; their last tokens are left for it, as those of others.
void Slots::score_prompts() {
    scored_.reset();
    for (size_t i = 0; i < slots_.size(); ++i) {
        if (!slots_[i] || !slots_[i]->search.wants_prompt_scores()) continue;
        Search &search = slots_[i]->search;
        std::span<const int32_t> &tokens = tokens_[i]; // there is one beam
        if (tokens.empty()) continue;
        const size_t count = tokens.size() - (reading_[i] ? 0 : 1);
        scored_ = i;
        try {
            decoder_->score(i, tokens.first(count), [&](std::span<const Scores> scores) { search.score(scores); });
        } catch (const NoAnswer &why) {
            scored_.reset();
            fail_text(i, why);
            tokens = {};
            continue;
        }
        scored_.reset();
        tokens = tokens.subspan(count);
        if (reading_[i]) search.feed(count);
    }
}

} // namespace lamina::generation
