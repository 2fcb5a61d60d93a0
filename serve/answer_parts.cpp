#include "answer_parts.hpp"

#include <algorithm>
#include <utility>

namespace lamina::serve {
namespace {

constexpr std::string_view blanks = " \n\r\t";

// How much of the end of a text may be the beginning of a mark.
size_t begun(std::string_view text, std::string_view mark) {
    for (size_t length = std::min(text.size(), mark.size() - 1); length > 0; --length)
        if (mark.starts_with(text.substr(text.size() - length))) return length;
    return 0;
}

// What is left of a text without blanks at its end.
size_t without_blanks(std::string_view text) { return text.find_last_not_of(blanks) + 1; }

} // namespace

bool opens_thought(std::string_view prompt) { return prompt.substr(0, without_blanks(prompt)).ends_with(think_begin); }

std::vector<AnswerPart> AnswerParts::push(std::string_view text) {
    held_ += text;
    while (!held_.empty() && step(false)) {
    }
    return std::exchange(out_, {});
}

std::vector<AnswerPart> AnswerParts::finish() {
    while (!held_.empty() && step(true)) {
    }
    return std::exchange(out_, {});
}

// Returns whether something was done with what is held.
bool AnswerParts::step(bool last) {
    if (after_blanks_) {
        held_.erase(0, std::min(held_.find_first_not_of(blanks), held_.size()));
        if (held_.empty()) return false;
        after_blanks_ = false;
    }
    switch (mode_) {
    case Mode::begin:
        return begin(last);
    case Mode::thought:
        return think(last);
    case Mode::text:
        return say(last);
    case Mode::name:
        return read_name();
    case Mode::arguments:
        return read_arguments();
    case Mode::behind:
        break;
    }
    return go_on(last);
}

void AnswerParts::give(AnswerPart::Kind kind, size_t bytes) {
    if (bytes == 0) return;
    if (!out_.empty() && out_.back().kind == kind && kind != AnswerPart::Kind::call)
        out_.back().text.append(held_, 0, bytes);
    else
        out_.push_back({kind, held_.substr(0, bytes)});
    held_.erase(0, bytes);
}

bool AnswerParts::begin(bool last) {
    const size_t first = std::min(held_.find_first_not_of(blanks), held_.size());
    const std::string_view rest = std::string_view(held_).substr(first);
    if (!last && rest.size() < think_begin.size() && think_begin.starts_with(rest)) return false;
    const bool thinks = rest.starts_with(think_begin);
    if (thinks) held_.erase(0, first + think_begin.size());
    after_blanks_ = thinks;
    mode_ = thinks ? Mode::thought : Mode::text;
    return true;
}

// Gives what comes before a mark, without blanks before it. Returns whether the mark is there; it is taken, too.
bool AnswerParts::give_until(std::string_view mark, AnswerPart::Kind kind, bool last) {
    const size_t end = held_.find(mark);
    const size_t safe = end != std::string::npos ? end : last ? held_.size() : held_.size() - begun(held_, mark);
    const bool whole = last && end == std::string::npos;
    give(kind, whole ? safe : without_blanks(std::string_view(held_).substr(0, safe)));
    if (end == std::string::npos) return false;
    held_.erase(0, held_.find(mark) + mark.size());
    return true;
}

bool AnswerParts::think(bool last) {
    if (!give_until(think_end, AnswerPart::Kind::thought, last)) return false;
    mode_ = Mode::text;
    after_blanks_ = true;
    return true;
}

bool AnswerParts::say(bool last) {
    if (!format_) {
        give(AnswerPart::Kind::text, held_.size());
        return false;
    }
    if (!give_until(format_->begin, AnswerPart::Kind::text, last)) return false;
    mode_ = Mode::name;
    return true;
}

bool AnswerParts::read_name() {
    const size_t end = held_.find(format_->middle);
    if (end == std::string::npos) return false;
    give(AnswerPart::Kind::call, end);
    held_.erase(0, format_->middle.size());
    depth_ = 0, quoted_ = escaped_ = false;
    mode_ = Mode::arguments;
    return true;
}

// Up to the brace that ends them.
bool AnswerParts::read_arguments() {
    for (size_t i = 0; i < held_.size(); ++i) {
        const char c = held_[i];
        if (escaped_) {
            escaped_ = false;
        } else if (quoted_) {
            escaped_ = c == '\\';
            quoted_ = c != '"';
        } else if (c == '"') {
            quoted_ = true;
        } else if (c == '{' || c == '[') {
            ++depth_;
        } else if ((c == '}' || c == ']') && --depth_ == 0) {
            give(AnswerPart::Kind::arguments, i + 1);
            mode_ = Mode::behind;
            return true;
        }
    }
    give(AnswerPart::Kind::arguments, held_.size());
    return false;
}

// Another call, or other text.
bool AnswerParts::go_on(bool last) {
    const auto is_next = [&](const std::string &mark) { return !mark.empty() && held_.starts_with(mark); };
    const auto may_be = [&](const std::string &mark) { return mark.size() > held_.size() && mark.starts_with(held_); };
    if (is_next(format_->next)) {
        held_.erase(0, format_->next.size());
        mode_ = Mode::name;
        return true;
    }
    if (!last && (may_be(format_->next) || may_be(format_->end))) return false;
    if (is_next(format_->end)) held_.erase(0, format_->end.size());
    mode_ = Mode::text;
    after_blanks_ = true;
    return true;
}

} // namespace lamina::serve
