// Texts that a model reads, in pieces: of every request some, so that one with thousands of texts keeps nobody waiting.
#pragma once

#include "metrics.hpp"
#include "work.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace lamina::serve {

class Reader {
  public:
    // `metrics` counts under the name `model`; both references must outlive this.
    Reader(Session &session, std::string model, Metrics &metrics)
        : session_(session), model_(std::move(model)), metrics_(metrics) {}

    void add(std::shared_ptr<Embedding> work);
    // Reads a piece, and ends the work that is done, has failed, or that nobody waits for.
    void step();
    [[nodiscard]] bool empty() const { return reading_.empty(); }

  private:
    struct Reading {
        std::shared_ptr<Embedding> work;
        std::vector<size_t> order; // texts of similar length are read together
        size_t begun = 0;          // of them
    };
    struct Part { // of a piece
        Reading *of;
        std::vector<size_t> texts;
    };
    [[nodiscard]] std::vector<Part> next_piece();
    void read(const std::vector<Part> &parts);

    Session &session_;
    const std::string model_;
    Metrics &metrics_;
    std::vector<Reading> reading_;
};

} // namespace lamina::serve
