#include "grammar/network.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <bitset>
#include <optional>
#include <utility>

namespace lamina::grammar {
namespace {

using Kind = Expression::Kind;
using State = Network::State;

constexpr size_t most_states = 1 << 18;
constexpr size_t small = 4; // parts of an expression that are rather repeated than called

// How many states an expression takes, about.
size_t size_of(const Expression &e) {
    size_t size = e.text.size() + e.ranges.size();
    for (const Expression &part : e.parts) size += size_of(part);
    return size + 1;
}

class Builder {
  public:
    Builder(const Rules &rules, std::string name) : rules_(rules), name_(std::move(name)) {}

    Network build() {
        for (const Expression &e : rules_.expressions) begin_rule(e);
        for (uint32_t r = 0; r < expressions_.size(); ++r) { // grows: parts that are repeated become rules
            owner_ = r;
            connect(ranges_[r].first, *expressions_[r], ranges_[r].second);
        }
        keep_what_ends();
        refuse_left_recursion();
        mark_tails();
        classify();
        return std::move(out_);
    }

  private:
    [[noreturn]] void fail(const std::string &why) const { throw Error(ErrorCode::input, name_ + ": " + why); }

    uint32_t add_state() {
        if (out_.states.size() == most_states)
            fail("too large: it needs more than " + std::to_string(most_states) +
                 " states; expected fewer or shorter repetitions");
        out_.states.emplace_back();
        owners_.push_back(owner_);
        return static_cast<uint32_t>(out_.states.size() - 1);
    }
    State &at(uint32_t state) { return out_.states[state]; }

    size_t begin_rule(const Expression &e) {
        const uint32_t first = add_state(), last = add_state();
        at(last).end = true;
        owners_[first] = owners_[last] = static_cast<uint32_t>(ranges_.size());
        ranges_.emplace_back(first, last);
        expressions_.push_back(&e);
        return ranges_.size() - 1;
    }

    void call(uint32_t from, size_t rule, uint32_t to) { at(from).calls.push_back({ranges_[rule].first, to}); }

    void connect(uint32_t from, const Expression &e, uint32_t to) {
        switch (e.kind) {
        case Kind::text:
            return connect_text(from, e.text, to);
        case Kind::character:
            for (const Range &r : e.ranges) connect_characters(from, r.first, r.last, to);
            return;
        case Kind::sequence:
            return connect_sequence(from, e.parts, to);
        case Kind::choice:
            for (const Expression &part : e.parts) connect(from, part, to);
            return;
        case Kind::repeat:
            return connect_repeat(from, e, to);
        case Kind::rule:
            return call(from, e.rule, to);
        }
    }

    void connect_text(uint32_t from, const std::string &text, uint32_t to) {
        if (text.empty()) return at(from).jumps.push_back(to);
        for (size_t i = 0; i < text.size(); ++i) {
            const auto byte = static_cast<uint8_t>(text[i]);
            const uint32_t next = i + 1 == text.size() ? to : add_state();
            at(from).edges.push_back({byte, byte, next});
            from = next;
        }
    }

    void connect_sequence(uint32_t from, const Expressions &parts, uint32_t to) {
        if (parts.empty()) return at(from).jumps.push_back(to);
        for (size_t i = 0; i < parts.size(); ++i) {
            const uint32_t next = i + 1 == parts.size() ? to : add_state();
            connect(from, parts[i], next);
            from = next;
        }
    }

    // A part that is repeated often is a rule of its own, which each repetition calls.
    void connect_repeat(uint32_t from, const Expression &e, uint32_t to) {
        const Expression &part = e.parts.front();
        const bool often = e.most == any_number ? e.least > 1 : e.most > 1;
        std::optional<size_t> own;
        if (often && part.kind != Kind::rule && size_of(part) > small) own = begin_rule(part);
        const auto once = [&](uint32_t first, uint32_t last) {
            if (own)
                call(first, *own, last);
            else
                connect(first, part, last);
        };
        for (uint32_t i = 0; i < e.least; ++i) {
            const uint32_t next = add_state();
            once(from, next);
            from = next;
        }
        if (e.most == any_number) {
            const uint32_t loop = add_state();
            at(from).jumps.push_back(loop);
            once(loop, loop);
            at(loop).jumps.push_back(to);
            return;
        }
        for (uint32_t i = e.least; i < e.most; ++i) {
            const uint32_t next = add_state();
            at(from).jumps.push_back(to);
            once(from, next);
            from = next;
        }
        at(from).jumps.push_back(to);
    }

    // The characters of a range are those of a few sequences of ranges of bytes: it is cut where the number of bytes
    // changes, and where the bytes after the first ones do not run through all of their values.
    void connect_characters(uint32_t from, char32_t first, char32_t last, uint32_t to) {
        for (const char32_t most : {char32_t{0x7F}, char32_t{0x7FF}, char32_t{0xFFFF}})
            if (first <= most && most < last) {
                connect_characters(from, first, most, to);
                return connect_characters(from, most + 1, last, to);
            }
        const size_t length = length_in_utf8(first);
        for (size_t i = 1; i < length; ++i) {
            const char32_t mask = (char32_t{1} << (6 * i)) - 1;
            if ((first & ~mask) == (last & ~mask)) continue;
            if ((first & mask) != 0) {
                connect_characters(from, first, first | mask, to);
                return connect_characters(from, (first | mask) + 1, last, to);
            }
            if ((last & mask) != mask) {
                connect_characters(from, first, (last & ~mask) - 1, to);
                return connect_characters(from, last & ~mask, last, to);
            }
        }
        const std::string low = utf8(first), high = utf8(last);
        for (size_t i = 0; i < length; ++i) {
            const uint32_t next = i + 1 == length ? to : add_state();
            at(from).edges.push_back({static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i]), next});
            from = next;
        }
    }

    // Which states lead to the end of their rule, from these ends on. A call does if its rule ends and what follows
    // does.
    void keep_what_ends() {
        const std::vector<std::vector<uint32_t>> before = states_before();
        std::vector<bool> ends(out_.states.size());
        std::vector<uint32_t> open;
        const auto add = [&](uint32_t state) {
            if (!ends[state]) open.push_back(state);
            ends[state] = true;
        };
        for (const auto &[first, last] : ranges_) add(last);
        while (!open.empty()) {
            const uint32_t state = open.back();
            open.pop_back();
            for (const uint32_t from : before[state]) {
                if (ends[from]) continue;
                const State &s = at(from);
                const bool directly = std::ranges::any_of(s.edges, [&](const auto &e) { return e.to == state; }) ||
                                      std::ranges::count(s.jumps, state) != 0;
                if (directly ||
                    std::ranges::any_of(s.calls, [&](const auto &c) { return ends[c.begin] && ends[c.back]; }))
                    add(from);
            }
        }
        if (!ends[0]) fail("there is no text that it matches");
        for (State &s : out_.states) {
            std::erase_if(s.edges, [&](const auto &e) { return !ends[e.to]; });
            std::erase_if(s.jumps, [&](uint32_t to) { return !ends[to]; });
            std::erase_if(s.calls, [&](const auto &c) { return !ends[c.begin] || !ends[c.back]; });
        }
    }

    // By state, those from which an edge, a jump or a call leads to it.
    [[nodiscard]] std::vector<std::vector<uint32_t>> states_before() const {
        std::vector<std::vector<uint32_t>> out(out_.states.size());
        for (uint32_t i = 0; i < out_.states.size(); ++i) {
            const State &s = out_.states[i];
            for (const Network::Edge &e : s.edges) out[e.to].push_back(i);
            for (const uint32_t to : s.jumps) out[to].push_back(i);
            for (const Network::Call &c : s.calls) out[c.begin].push_back(i), out[c.back].push_back(i);
        }
        return out;
    }

    // The states that a text may be at before its first byte, within the rule where it begins: from their beginnings
    // on, and behind calls of rules that may be empty.
    [[nodiscard]] std::vector<bool> before_bytes() const {
        std::vector<bool> reached(out_.states.size()), empty(ranges_.size());
        std::vector<std::vector<std::pair<uint32_t, uint32_t>>> called(ranges_.size()); // from where, and back to where
        for (uint32_t i = 0; i < out_.states.size(); ++i)
            for (const Network::Call &c : out_.states[i].calls) called[owners_[c.begin]].emplace_back(i, c.back);
        std::vector<uint32_t> open;
        const auto add = [&](uint32_t state) {
            if (!reached[state]) open.push_back(state);
            reached[state] = true;
        };
        for (const auto &[first, last] : ranges_) add(first);
        while (!open.empty()) {
            const uint32_t state = open.back();
            open.pop_back();
            const State &s = out_.states[state];
            for (const uint32_t to : s.jumps) add(to);
            for (const Network::Call &c : s.calls)
                if (empty[owners_[c.begin]]) add(c.back);
            if (!s.end) continue;
            empty[owners_[state]] = true;
            for (const auto &[from, back] : called[owners_[state]])
                if (reached[from]) add(back);
        }
        return reached;
    }

    // A text would go on calling rules without end.
    void refuse_left_recursion() {
        const std::vector<bool> reached = before_bytes();
        std::vector<std::vector<uint32_t>> begins(ranges_.size()); // by rule: with which rules it may begin
        for (uint32_t i = 0; i < out_.states.size(); ++i)
            for (const Network::Call &c : out_.states[i].calls)
                if (reached[i]) begins[owners_[i]].push_back(owners_[c.begin]);
        enum class Seen { no, open, done };
        std::vector<Seen> seen(ranges_.size(), Seen::no);
        std::vector<uint32_t> open;
        for (uint32_t r = 0; r < ranges_.size(); ++r) {
            if (seen[r] == Seen::no) open.push_back(r);
            while (!open.empty()) {
                const uint32_t rule = open.back();
                seen[rule] = Seen::open;
                if (begins[rule].empty()) {
                    seen[rule] = Seen::done;
                    open.pop_back();
                    continue;
                }
                const uint32_t next = begins[rule].back();
                begins[rule].pop_back();
                if (seen[next] == Seen::open)
                    fail("the rule " + in_quotes(name_of(next)) + " begins with itself; expected one that repeats at " +
                         "its end, as in: list ::= item list?");
                if (seen[next] == Seen::no) open.push_back(next);
            }
        }
    }
    [[nodiscard]] std::string name_of(size_t rule) const {
        return rule < rules_.names.size() ? rules_.names[rule] : "a part that is repeated";
    }

    void mark_tails() {
        const std::vector<std::vector<uint32_t>> before = states_before();
        std::vector<size_t> others(out_.states.size()); // jumps to states that are no tails
        std::vector<uint32_t> open;
        for (uint32_t i = 0; i < out_.states.size(); ++i) {
            others[i] = out_.states[i].jumps.size();
            if (out_.states[i].end) open.push_back(i);
        }
        while (!open.empty()) {
            const uint32_t state = open.back();
            open.pop_back();
            at(state).tail = true;
            for (const uint32_t from : before[state]) {
                const State &s = at(from);
                if (s.edges.empty() && s.calls.empty() && !s.tail && --others[from] == 0) open.push_back(from);
            }
        }
    }

    void classify() {
        std::bitset<257> cuts;
        for (const State &s : out_.states)
            for (const Network::Edge &e : s.edges) cuts.set(e.first), cuts.set(size_t{e.last} + 1);
        uint8_t number = 0;
        for (size_t byte = 0; byte < 256; ++byte) {
            if (byte != 0 && cuts.test(byte)) ++number;
            out_.classes.at(byte) = number;
        }
        out_.class_count = size_t{number} + 1;
    }

    const Rules &rules_;
    std::string name_;
    Network out_;
    std::vector<std::pair<uint32_t, uint32_t>> ranges_; // by rule: its first state and its end
    std::vector<const Expression *> expressions_;
    std::vector<uint32_t> owners_; // of states: their rules
    uint32_t owner_ = 0;           // of those that are added
};

} // namespace

Network network_of(const Rules &rules, const std::string &name) { return Builder(rules, name).build(); }

} // namespace lamina::grammar
