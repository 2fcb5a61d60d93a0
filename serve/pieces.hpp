// Work that is done in pieces: of every request some parts, so that one with many keeps nobody waiting.
#pragma once

#include "metrics.hpp"
#include "work.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lamina::serve {

// `Kind` is a kind of Work.
template <class Kind> class Pieces {
  public:
    // Parts of one work.
    struct Share {
        std::shared_ptr<Kind> work;
        std::vector<size_t> parts;
    };
    using Piece = std::vector<Share>;

    // Pieces have at most so many parts; `compute` does one. `metrics` counts under the name `model`, and must outlive
    // this.
    Pieces(size_t most, std::function<void(const Piece &)> compute, std::string model, Metrics &metrics)
        : most_(most), compute_(std::move(compute)), model_(std::move(model)), metrics_(metrics) {}

    // The parts are done in this order.
    void add(const std::shared_ptr<Kind> &work, const std::vector<size_t> &parts) {
        Begun &begun = begun_.emplace_back(work, parts.size());
        for (const size_t part : parts) waiting_.push_back(work->owner, {&begun, part});
    }
    // One more part of work of which a part is being computed.
    void add_part(const std::shared_ptr<Kind> &work, size_t part) {
        const auto begun = std::ranges::find(begun_, work, &Begun::work);
        ++begun->open;
        waiting_.push_back(work->owner, {&*begun, part});
    }
    // Does a piece, and ends the work that is done, has failed, or that nobody waits for.
    void step() {
        for (const Begun &each : begun_)
            if (each.work->left()) each.work->end();
        forget_ended();
        const Piece piece = take_piece();
        if (!piece.empty()) try_all(piece);
        for (const Begun &each : begun_)
            if (each.open == 0 && !each.work->ended()) each.work->end();
        forget_ended();
    }
    [[nodiscard]] bool empty() const { return begun_.empty(); }

  private:
    struct Begun {
        Begun(std::shared_ptr<Kind> w, size_t parts) : work(std::move(w)), open(parts) {}
        std::shared_ptr<Kind> work;
        size_t open; // parts that wait
    };
    struct Part {
        Begun *of;
        size_t number;
    };

    Piece take_piece() {
        Piece out;
        for (size_t count = 0; count < most_ && !waiting_.empty(); ++count) {
            const Part part = waiting_.take();
            --part.of->open;
            auto share = std::ranges::find(out, part.of->work, &Share::work);
            if (share == out.end()) share = out.insert(share, {part.of->work, {}});
            share->parts.push_back(part.number);
        }
        return out;
    }
    // Nothing fails because of what it is done together with: if the piece fails, each share is tried alone.
    void try_all(const Piece &piece) {
        try {
            std::optional<ComputedAlone> alone;
            if (piece.size() == 1) alone.emplace(*piece.front().work);
            compute_(piece);
            metrics_.batch(model_, piece.size());
        } catch (...) {
            if (piece.size() == 1) return piece.front().work->end(std::current_exception());
            for (const Share &share : piece) try_all({share});
        }
    }
    void forget_ended() {
        const auto ended = [](const Begun &each) { return each.work->ended(); };
        if (std::ranges::none_of(begun_, ended)) return;
        waiting_.remove_if([&](const Part &part) { return ended(*part.of); });
        begun_.remove_if(ended);
    }

    const size_t most_;
    const std::function<void(const Piece &)> compute_;
    const std::string model_;
    Metrics &metrics_;
    std::list<Begun> begun_;
    Turns<Part> waiting_;
};

} // namespace lamina::serve
