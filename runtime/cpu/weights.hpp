// The weights that a backend and its programs share, as references and kernels read them.
#pragma once

#include "cpu/backend.hpp"
#include "cpu/memory.hpp"
#include "model/weights.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lamina::cpu {

class Weights {
  public:
    // `widened`: where the bytes of copies are counted; or null.
    Weights(model::Weights stored, WidenedBytes *widened) : stored_(std::move(stored)), counts_(widened) {}

    void add(const model::Weights &more) { stored_.add(more); } // whose names are new
    void remove(const std::string &beginning);                  // those whose names begin so, and what was made of them
    void expect_whole() const { stored_.expect_whole(); }

    // What reading the weight would add to the memory that is taken: nothing but a stack that has not been read.
    [[nodiscard]] uint64_t bytes_to_copy(const std::string &name) const { return at(name).bytes_to_copy(); }
    // The weight as it is stored, without alignment.
    [[nodiscard]] const std::byte *stored(const std::string &name) const { return at(name).bytes().data(); }
    // What words() would add to the memory that is taken.
    [[nodiscard]] uint64_t bytes_to_widen(const std::string &name) const;
    // The weight as F32 or I32: the file's own bytes if they have this dtype and are aligned, else a copy, made once.
    [[nodiscard]] const void *words(const std::string &name);

    // Memory for the weight in the order of the executor's kernels, which share it; fill() writes it when it is new,
    // and what is mapped of the weight leaves memory. Null if there is no room, or if fill() returns false.
    [[nodiscard]] const void *arranged(const std::string &name, uint64_t bytes,
                                       const std::function<bool(void *)> &fill);
    // How many bytes arranged() may take in all.
    void give_room(uint64_t bytes) { room_ = bytes; }

    // The weights of one step as F32 or I32, for as long as this lives.
    class Lent {
      public:
        Lent(Weights &weights, const std::vector<std::string> &names, size_t threads);
        ~Lent() { weights_.take_back(std::move(copies_)); }
        Lent(const Lent &) = delete;
        Lent &operator=(const Lent &) = delete;

        [[nodiscard]] const void *words(size_t i) const { return words_[i]; } // of names[i]

      private:
        Weights &weights_;
        Memory copies_;
        std::vector<const void *> words_;
    };

  private:
    [[nodiscard]] const model::Weight &at(const std::string &name) const { return stored_.entries().at(name); }
    [[nodiscard]] uint64_t bytes_to_widen(const std::vector<std::string> &names) const;
    [[nodiscard]] Memory lend(uint64_t bytes);
    void take_back(Memory copies);
    void count(int64_t bytes);

    model::Weights stored_;
    WidenedBytes *counts_;
    std::map<std::string, Memory> kept_;
    struct Arranged {
        LargePages memory;
        uint64_t bytes;
    };
    std::map<std::string, Arranged> arranged_;
    uint64_t room_ = 0;
    Memory spare_{0}; // for the next Lent
};

} // namespace lamina::cpu
