// A model's weights by name, whatever file they came from.
#pragma once

#include <lamina/tensor.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace lamina::model {

// A tensor in memory that lives at least as long as this or a copy of it: a mapped file's, or a Tensor's. Its bytes are
// not aligned, since a file may let a tensor begin at any offset.
struct Weight {
    TensorType type;
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;

    static Weight of(Tensor tensor);
    // Rows [begin, end) of the outermost axis, as a tensor of their own over the same bytes. Throws Error(input) for
    // rows that are not there.
    [[nodiscard]] Weight rows(int64_t begin, int64_t end) const;
};

class Weights {
  public:
    Weights() = default; // none
    // `file` is what messages call the place where the tensors were read.
    explicit Weights(std::filesystem::path file) : file_(std::move(file)) {}
    // Tensors that never were in a file.
    static Weights of(std::map<std::string, Tensor, std::less<>> tensors);

    // A copy of another weight, or rows of it, under a second name takes no memory. Throw Error(input) for a name that
    // is taken.
    void add(const std::string &name, Weight weight);
    // A tensor of a dtype that no layer takes ("F64"): it may lie in a file unused.
    void add_other(const std::string &name, const std::string &dtype);

    [[nodiscard]] const std::map<std::string, Weight, std::less<>> &entries() const { return entries_; }
    // name -> dtype, as its format writes that
    [[nodiscard]] const std::map<std::string, std::string, std::less<>> &others() const { return others_; }
    // Throws Error(input): no such tensor, or one that no layer takes.
    [[nodiscard]] const Weight &at(const std::string &name) const;
    // Empty where there is none.
    [[nodiscard]] const std::filesystem::path &file() const { return file_; }

  private:
    void expect_new(const std::string &name) const;

    std::filesystem::path file_;
    std::map<std::string, Weight, std::less<>> entries_;
    std::map<std::string, std::string, std::less<>> others_;
};

} // namespace lamina::model
