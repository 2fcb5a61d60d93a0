// What waits, by who owns it. Owners take turns, so that one with much does not keep the others waiting.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <utility>

namespace lamina::generation {

template <class T> class Turns {
  public:
    [[nodiscard]] bool empty() const { return owners_.empty(); }

    // The last of its owner; a new owner has its turn after the others.
    void push_back(uint64_t owner, T value) { of(owner, owners_.end()).push_back(std::move(value)); }
    // The first of its owner; a new owner has its turn before the others.
    void push_front(uint64_t owner, T value) { of(owner, owners_.begin()).push_front(std::move(value)); }

    // Takes what is next: of the owners for which busy(owner) is least, the one whose turn it is. Not if empty.
    template <class Busy> [[nodiscard]] T take(const Busy &busy) {
        const auto next = std::ranges::min_element(owners_, {}, [&](const Owner &each) { return busy(each.id); });
        T out = std::move(next->values.front());
        next->values.pop_front();
        if (next->values.empty())
            owners_.erase(next);
        else
            owners_.splice(owners_.end(), owners_, next);
        return out;
    }

    // Returns whether there was any.
    template <class Which> bool remove_if(const Which &which) {
        size_t removed = 0;
        for (Owner &each : owners_) removed += each.values.remove_if(which);
        owners_.remove_if([](const Owner &each) { return each.values.empty(); });
        return removed != 0;
    }

  private:
    struct Owner {
        uint64_t id;
        std::list<T> values; // never empty
    };
    std::list<T> &of(uint64_t owner, typename std::list<Owner>::iterator place) {
        const auto known = std::ranges::find(owners_, owner, &Owner::id);
        return known != owners_.end() ? known->values : owners_.insert(place, Owner{owner, {}})->values;
    }

    std::list<Owner> owners_; // in the order of their turns
};

} // namespace lamina::generation
