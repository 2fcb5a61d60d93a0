#include "tokenizer/parts.hpp"

namespace lamina {
namespace {

// The size of the text without an incomplete character at its end: three bytes at most, which decoders write as U+FFFD.
size_t whole_part(std::string_view text) {
    constexpr std::string_view replacement = "\xEF\xBF\xBD";
    for (int i = 0; i < 3 && text.ends_with(replacement); ++i) text.remove_suffix(replacement.size());
    return text.size();
}

constexpr size_t most_ids = 32, kept_ids = 8; // that are decoded again with each token

} // namespace

std::string StreamDecoder::decoded() const {
    return tokenizer::decoded(tokenizer_.parts(), ids_, skip_special_tokens_);
}

std::string StreamDecoder::push(int32_t id) {
    std::string out = added_by(id);
    if (!tokenizer_.parts().clean_up) return out;
    held_ += out;
    const size_t settled = tokenizer::settled(held_);
    out = held_.substr(0, settled);
    held_.erase(0, settled);
    return tokenizer::cleaned_up(std::move(out));
}

std::string StreamDecoder::added_by(int32_t id) {
    ids_.push_back(id);
    std::string now = decoded();
    if (!now.starts_with(given_)) { // the decoder changed text that was already returned: start over with this token
        ids_.assign(1, id);
        old_ = 0;
        given_.clear();
        now = decoded();
    }
    const size_t whole = whole_part(now);
    const std::string out = whole > given_.size() ? now.substr(given_.size(), whole - given_.size()) : "";
    given_ += out;
    if (whole == now.size() && !out.empty()) { // no character is incomplete
        ids_.erase(ids_.begin(), ids_.begin() + static_cast<ptrdiff_t>(old_));
        old_ = ids_.size();
        given_ = decoded();
    } else if (ids_.size() > most_ids) { // many tokens that end within characters
        ids_.erase(ids_.begin(), ids_.end() - kept_ids);
        old_ = 0;
        given_ = decoded();
        given_.resize(whole_part(given_));
    }
    return out;
}

std::string StreamDecoder::finish() {
    const std::string now = decoded();
    std::string out = held_ + (now.starts_with(given_) ? now.substr(given_.size()) : "");
    ids_.clear();
    old_ = 0;
    given_.clear();
    held_.clear();
    return tokenizer_.parts().clean_up ? tokenizer::cleaned_up(std::move(out)) : out;
}

} // namespace lamina
