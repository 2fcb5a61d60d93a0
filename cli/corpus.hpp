// Many texts, one on each line of a file: the line itself, or a field of the JSON on it.
#pragma once

#include "lines.hpp"

#include <lamina/inspect.hpp>

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace lamina::cli {

class Corpus {
  public:
    // "-": stdin. Lines are JSON if the file's name ends with .jsonl or .ndjson, or if a field is given; else it is
    // "text". Throws Error(input) if there is no such file.
    explicit Corpus(const std::filesystem::path &file, const std::string &field = "");
    Corpus(const Corpus &) = delete;
    Corpus &operator=(const Corpus &) = delete;
    ~Corpus();

    // All of them; 0 if that cannot be told before they are read, as of stdin.
    [[nodiscard]] size_t count_lines() const;
    // The next ones, fewer than `count` only at the end. Throws Error(input) with the number of a line that has none.
    [[nodiscard]] std::vector<std::string> next(size_t count);
    // Throws Error(input) about text i of those that next() returned.
    [[noreturn]] void refuse(size_t i, const std::string &why) const;

  private:
    [[nodiscard]] std::string text_of(const std::string &line, size_t number) const;

    std::string name_, field_; // field_: empty if lines are texts
    bool ordinary_ = false;    // it can be read twice
    int file_ = -1;
    LineReader lines_;
    size_t first_ = 1, read_ = 0; // first_: the number of the first line that next() returned
};

// What is put before texts of this kind: the first of these prompts that the model has, or what `given` says. Nothing:
// its default.
[[nodiscard]] std::optional<std::string> prompt_for(const ModelContents &model, const std::optional<std::string> &given,
                                                    std::initializer_list<const char *> names);

} // namespace lamina::cli
