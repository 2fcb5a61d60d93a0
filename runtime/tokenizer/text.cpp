#include "tokenizer/text.hpp"

#include "tokenizer/unicode.hpp"

#include <lamina/error.hpp>

#include <algorithm>

namespace lamina::tokenizer {

Text::Text(std::string_view original, Growth &growth) : growth_(&growth), now_(original) {
    if (original.size() > UINT32_MAX / 2)
        throw Error(ErrorCode::input, "a text of " + std::to_string(original.size()) +
                                          " bytes is too long to be split into tokens; expected less than 2 GiB");
    origin_ = {0, static_cast<uint32_t>(original.size())};
    origins_.reserve(original.size());
    for (uint32_t at = 0; at < origin_.end;) {
        const auto length = static_cast<uint32_t>(character_at(original, at).length);
        origins_.insert(origins_.end(), length, Span{at, at + length});
        at += length;
    }
}

Span Text::origin(Span part) const {
    if (part.end > now_.size()) return part; // includes an end-of-word suffix; tokenizers counts it, too
    if (part.begin == part.end) return {origin_.begin + part.begin, origin_.begin + part.end}; // empty
    return {origins_[part.begin].begin, origins_[part.end - 1].end};
}

Text Text::slice(Span part) const {
    Text out(*growth_);
    out.now_ = part.of(now_);
    out.origins_.assign(origins_.begin() + part.begin, origins_.begin() + part.end);
    out.origin_ = origin(part);
    return out;
}

void Text::expect_room(size_t bytes) const { Growth(*growth_).spend(now_.size(), bytes); }

void Text::transform(std::span<const Change> changes, size_t dropped) {
    std::string now;
    std::vector<Span> origins;
    now.reserve(now_.size());
    origins.reserve(now_.size());
    size_t at = 0; // in now_
    const auto skip = [&] { at += at < now_.size() ? character_at(now_, at).length : 0; };
    for (size_t i = 0; i < dropped; ++i) skip();
    for (const Change &each : changes) {
        const size_t like = each.change > 0 ? at - (at > 0 ? 1 : 0) : std::min(at, now_.size() - 1);
        const Span origin = each.change > 0 && at == 0 ? Span{origin_.begin, origin_.begin} : origins_[like];
        if (each.change <= 0) skip();
        for (int i = each.change; i < 0; ++i) skip();
        append_utf8(now, each.code);
        origins.resize(now.size(), origin);
    }
    growth_->spend(now_.size(), now.size());
    now_ = std::move(now);
    origins_ = std::move(origins);
}

void Text::keep_if(const std::function<bool(char32_t)> &keep) {
    std::vector<Change> changes;
    size_t dropped_first = 0;
    bool all = true;
    for (size_t at = 0; at < now_.size();) {
        const auto [code, length] = character_at(now_, at);
        at += length;
        if (keep(code)) {
            changes.push_back({code, 0});
            continue;
        }
        all = false;
        if (changes.empty())
            ++dropped_first;
        else
            --changes.back().change;
    }
    if (!all) transform(changes, dropped_first);
}

void Text::map(const std::function<char32_t(char32_t)> &function) {
    std::vector<Change> changes;
    for (size_t at = 0; at < now_.size();) {
        const auto [code, length] = character_at(now_, at);
        changes.push_back({function(code), 0});
        at += length;
    }
    transform(changes);
}

void Text::prepend(std::string_view text) {
    if (now_.empty()) return;
    growth_->spend(text.size());
    origins_.insert(origins_.begin(), text.size(), Span(origins_.front()));
    now_.insert(0, text);
}

void Text::replace(std::span<const Span> parts, std::string_view text) {
    if (parts.empty()) return;
    size_t kept = now_.size();
    for (const Span &part : parts) kept -= part.size();
    growth_->spend(now_.size(), kept + parts.size() * text.size()); // less than 2 GiB of text times 512 MiB of file
    std::string now;
    std::vector<Span> origins;
    const auto keep = [&](uint32_t from, uint32_t to) {
        now += Span{from, to}.of(now_);
        origins.insert(origins.end(), origins_.begin() + from, origins_.begin() + to);
    };
    uint32_t done = 0;
    for (const Span &part : parts) {
        keep(done, part.begin);
        now += text;
        origins.resize(now.size(), part.end == 0 ? Span{origin_.begin, origin_.begin} : origins_[part.end - 1]);
        done = part.end;
    }
    keep(done, static_cast<uint32_t>(now_.size()));
    now_ = std::move(now);
    origins_ = std::move(origins);
}

} // namespace lamina::tokenizer
