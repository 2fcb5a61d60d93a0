// What waits, by who owns it. Clients take turns, and so do the requests of a client, so that neither a client with
// many requests nor a request for much keeps others waiting.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <tuple>
#include <utility>

namespace lamina {

// Any numbers.
struct Owner {
    uint64_t client = 0, request = 0;
    bool operator==(const Owner &) const = default;
};

template <class T> class Turns {
  public:
    // What an owner has under way: its client, and of this the request.
    using Busy = std::pair<size_t, size_t>;

    [[nodiscard]] bool empty() const { return queues_.empty(); }

    // The last of its owner; a new owner has its turn after the others.
    void push_back(Owner owner, T value) { of(owner, queues_.end(), turn_).push_back(std::move(value)); }
    // The first of its owner; a new owner has its turn before the others.
    void push_front(Owner owner, T value) { of(owner, queues_.begin(), 0).push_front(std::move(value)); }

    // Takes what is next: of the clients that have least under way the one whose turn it is, and of its requests
    // likewise. `busy(owner)` returns a Busy. Not if empty.
    template <class UnderWay> [[nodiscard]] T take(const UnderWay &busy) {
        const auto next = find_next(queues_, busy);
        ++turn_;
        for (Queue &each : queues_)
            if (each.owner.client == next->owner.client) each.last = turn_;
        T out = std::move(next->values.front());
        next->values.pop_front();
        if (next->values.empty())
            queues_.erase(next);
        else
            queues_.splice(queues_.end(), queues_, next);
        return out;
    }
    [[nodiscard]] T take() {
        return take([](const Owner &) { return Busy(); });
    }
    // Whose value take(busy) would return. Not if empty.
    template <class UnderWay> [[nodiscard]] Owner next(const UnderWay &busy) const {
        return find_next(queues_, busy)->owner;
    }

    // Returns whether there was any.
    template <class Which> bool remove_if(const Which &which) {
        size_t removed = 0;
        for (Queue &each : queues_) removed += each.values.remove_if(which);
        queues_.remove_if([](const Queue &each) { return each.values.empty(); });
        return removed != 0;
    }

  private:
    struct Queue {
        Owner owner;
        uint64_t last;       // turn of its client
        std::list<T> values; // never empty
    };
    template <class Queues, class UnderWay> static auto find_next(Queues &queues, const UnderWay &busy) {
        return std::ranges::min_element(queues, {}, [&](const Queue &each) {
            const auto [client, request] = busy(each.owner);
            return std::tuple(client, each.last, request);
        });
    }
    std::list<T> &of(const Owner &owner, typename std::list<Queue>::iterator place, uint64_t last) {
        if (const auto known = std::ranges::find(queues_, owner, &Queue::owner); known != queues_.end())
            return known->values;
        const auto same = [&](const Queue &each) { return each.owner.client == owner.client; };
        if (const auto known = std::ranges::find_if(queues_, same); known != queues_.end()) last = known->last;
        return queues_.insert(place, Queue{owner, last, {}})->values;
    }

    std::list<Queue> queues_; // in the order of their requests' turns
    uint64_t turn_ = 0;
};

} // namespace lamina
