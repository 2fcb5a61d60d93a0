// The network as an automaton that is found as it is used: what a text may be in the middle of is a number, and each
// byte leads to another.
#pragma once

#include "grammar/network.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace lamina::grammar {

class Automaton {
  public:
    static constexpr uint32_t nowhere = 0, begin = 1;

    explicit Automaton(std::shared_ptr<const Network> network);

    // nowhere: no text goes on so. Throws Error(input) if a text can be read in too many ways.
    [[nodiscard]] uint32_t step(uint32_t at, uint8_t byte) {
        const uint32_t cls = network_->classes[byte];
        const uint32_t known = next_[at * network_->class_count + cls];
        return known != unknown ? known : find(at, byte, cls);
    }
    [[nodiscard]] bool may_end(uint32_t at) const { return places_[at].may_end; }
    [[nodiscard]] bool may_go_on(uint32_t at) const { return !places_[at].positions.empty(); }
    // The byte that must follow; nothing where there is a choice, or where the text may end.
    [[nodiscard]] std::optional<uint8_t> only_byte(uint32_t at) const;
    [[nodiscard]] size_t work() const { return work_; }   // positions that have been looked at so far
    [[nodiscard]] size_t bytes() const { return bytes_; } // of memory, about

  private:
    static constexpr uint32_t unknown = UINT32_MAX;
    // A state, and to which states calls return, the innermost first: a list that begins at this number.
    struct Position {
        uint32_t state, calls;
        bool operator==(const Position &) const = default;
    };
    struct Place {
        std::vector<Position> positions{}; // all that a text may be at, each with edges
        bool may_end = false;
    };
    struct Hash {
        size_t operator()(uint64_t key) const { return key * 0x9E3779B97F4A7C15u >> 7; }
    };

    uint32_t find(uint32_t at, uint8_t byte, uint32_t cls);
    uint32_t number_of(std::vector<Position> &reached);
    uint32_t pushed(uint32_t state, uint32_t calls);

    std::shared_ptr<const Network> network_;
    std::vector<Place> places_;
    std::vector<uint32_t> next_; // by place and class
    std::vector<Position> calls_;
    std::unordered_map<uint64_t, uint32_t, Hash> call_numbers_;
    std::unordered_multimap<uint64_t, uint32_t, Hash> numbers_; // of places, by the hash of what they hold
    size_t bytes_ = 0, work_ = 0;
};

} // namespace lamina::grammar
