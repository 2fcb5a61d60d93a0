#include "grammar/automaton.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <string>
#include <unordered_set>

namespace lamina::grammar {
namespace {

constexpr size_t most_positions = 5000; // of a place

uint64_t key_of(uint32_t state, uint32_t calls) { return uint64_t{state} << 32 | calls; }

} // namespace

Automaton::Automaton(std::shared_ptr<const Network> network)
    : network_(std::move(network)), places_(1), next_(network_->class_count, nowhere), calls_(1) {
    std::vector<Position> first{{0, 0}};
    number_of(first);
}

uint32_t Automaton::pushed(uint32_t state, uint32_t calls) {
    if (network_->states[state].tail) return calls;
    const auto [found, added] = call_numbers_.try_emplace(key_of(state, calls), static_cast<uint32_t>(calls_.size()));
    if (added) {
        calls_.push_back({state, calls});
        bytes_ += sizeof(Position) + 48;
    }
    return found->second;
}

std::optional<uint8_t> Automaton::only_byte(uint32_t at) const {
    if (may_end(at)) return std::nullopt;
    std::optional<uint8_t> out;
    for (const Position &p : places_[at].positions)
        for (const Network::Edge &e : network_->states[p.state].edges) {
            if (e.first != e.last || (out && *out != e.first)) return std::nullopt;
            out = e.first;
        }
    return out;
}

uint32_t Automaton::find(uint32_t at, uint8_t byte, uint32_t cls) {
    std::vector<Position> reached;
    for (const Position &p : places_[at].positions)
        for (const Network::Edge &e : network_->states[p.state].edges)
            if (e.first <= byte && byte <= e.last) reached.push_back({e.to, p.calls});
    const uint32_t to = reached.empty() ? nowhere : number_of(reached);
    next_[at * network_->class_count + cls] = to;
    return to;
}

// Of what is reached without another byte, too.
uint32_t Automaton::number_of(std::vector<Position> &reached) {
    Place place;
    std::unordered_set<uint64_t, Hash> seen;
    const auto add = [&](uint32_t state, uint32_t calls) {
        if (!seen.insert(key_of(state, calls)).second) return;
        if (seen.size() > most_positions)
            throw Error(ErrorCode::input, "the grammar reads a text in more than " + std::to_string(most_positions) +
                                              " ways at once; expected one with fewer choices that begin alike");
        reached.push_back({state, calls});
    };
    std::vector<Position> first;
    first.swap(reached);
    for (const Position &p : first) add(p.state, p.calls);
    for (size_t i = 0; i < reached.size(); ++i) {
        const auto [state, calls] = reached[i];
        const Network::State &s = network_->states[state];
        if (!s.edges.empty()) place.positions.push_back({state, calls});
        for (const uint32_t to : s.jumps) add(to, calls);
        for (const Network::Call &c : s.calls) add(c.begin, pushed(c.back, calls));
        if (!s.end) continue;
        if (calls == 0)
            place.may_end = true;
        else
            add(calls_[calls].state, calls_[calls].calls);
    }
    work_ += reached.size();
    std::ranges::sort(place.positions, {}, [](const Position &p) { return key_of(p.state, p.calls); });
    uint64_t hash = place.may_end ? 1 : 0;
    for (const Position &p : place.positions) hash = (hash ^ key_of(p.state, p.calls)) * 0xD6E8FEB86659FD93u;
    const auto [from, to] = numbers_.equal_range(hash);
    for (auto it = from; it != to; ++it)
        if (places_[it->second].positions == place.positions && places_[it->second].may_end == place.may_end)
            return it->second;
    const auto number = static_cast<uint32_t>(places_.size());
    bytes_ += sizeof(Place) + place.positions.size() * sizeof(Position) + network_->class_count * sizeof(uint32_t) + 64;
    places_.push_back(std::move(place));
    next_.resize(next_.size() + network_->class_count, unknown);
    numbers_.emplace(hash, number);
    return number;
}

} // namespace lamina::grammar
