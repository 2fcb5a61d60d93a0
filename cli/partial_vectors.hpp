// A .npy file of vectors that grows while they are computed, and to which a later run can add if the first one ends
// early. Until it is whole it has another name, "vectors.npy.part"; "vectors.npy.part.json" says how many it has.
#pragma once

#include <lamina/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::cli {

class PartialVectors {
  public:
    using Settings = std::map<std::string, std::string>;

    // Opens what an earlier run has left, if there is something. `settings`: what vectors depend on besides the texts.
    PartialVectors(const std::filesystem::path &output, Settings settings, size_t width);
    PartialVectors(const PartialVectors &) = delete;
    PartialVectors &operator=(const PartialVectors &) = delete;
    ~PartialVectors(); // leaves the file if there are rows in it

    [[nodiscard]] const std::filesystem::path &path() const { return part_; }
    // Why new vectors cannot be added to those that are there; empty: they can.
    [[nodiscard]] const std::string &why_not() const { return why_not_; }
    [[nodiscard]] size_t rows() const { return rows_; }
    [[nodiscard]] uint64_t texts() const { return texts_; } // a hash of the texts that the rows are of
    [[nodiscard]] std::vector<float> first_row();
    void restart(); // without rows

    // `texts`: the hash with those of the new rows. All throw Error(failure) if the file cannot be written.
    void append(const Tensor &vectors, uint64_t texts);
    void finish(); // gives it its name

    static constexpr uint64_t no_texts = 0xcbf29ce484222325ull;
    [[nodiscard]] static uint64_t hash_with(uint64_t hash, std::string_view text);

  private:
    void read_state();
    void write_header();
    void write_state() const;
    void expect_good(const char *what);

    std::filesystem::path output_, part_, state_;
    Settings settings_;
    size_t width_, rows_ = 0;
    uint64_t texts_ = no_texts;
    std::string why_not_;
    std::fstream file_;
};

} // namespace lamina::cli
