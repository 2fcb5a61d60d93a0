// A model's weights by name, independent of the file format.
#pragma once

#include "base/mapped_file.hpp"

#include <lamina/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace lamina::model {

// A tensor in a mapped file or in the memory of a Tensor, which this and its copies keep alive. Its bytes may be
// unaligned, because a tensor may begin at any offset of a file.
struct Weight {
    TensorType type;
    std::span<const std::byte> stored; // empty, if it is made of others
    std::shared_ptr<const void> owner;
    std::shared_ptr<const class Made> made{};
    size_t first = 0; // of its bytes in what is made
    // Of what adapters changed: the matrix and what they add to it, if it is such a sum or rows of one.
    std::shared_ptr<const struct LowRankSum> changed{};

    static Weight of(Tensor tensor);
    // Tensors of the same type as one, along a new first axis. If they follow each other in memory, this shares their
    // bytes; otherwise bytes() copies them when it is first called. Throws Error(input) if their types differ.
    static Weight stacked(const std::vector<Weight> &parts);
    // A tensor that fill(bytes) writes when bytes() is first called, from these, of which only the bytes count: a file
    // of experts may be larger than memory, and not all of it is used.
    static Weight made_of(TensorType type, std::vector<Weight> parts, std::function<void(std::span<std::byte>)> fill);
    [[nodiscard]] std::span<const std::byte> bytes() const;
    // The same for whoever reads them once, such as to copy them to a device: what is made for that is not kept.
    struct Once {
        std::span<const std::byte> bytes;
        std::shared_ptr<const void> owner;
    };
    [[nodiscard]] Once once() const;
    // What bytes() would write: nothing, unless it is made of others and has not been read.
    [[nodiscard]] uint64_t bytes_to_copy() const;
    // The same values in another shape of as many. Throws Error(input).
    [[nodiscard]] Weight shaped(const Shape &shape) const;
    // Entry `i` of the outermost axis, without that axis, which shares these bytes.
    [[nodiscard]] Weight entry(int64_t i) const;
    // Rows [begin, end) of the outermost axis, which share these bytes.
    // Throws Error(input) for rows that do not exist.
    [[nodiscard]] Weight rows(int64_t begin, int64_t end) const;
    // If the bytes are mapped from a file, they leave memory until they are touched.
    void let_go() const;
    // Whether adapters changed neither this nor the weight of the same name of the same model, read another time.
    [[nodiscard]] bool is_same(const Weight &other) const;
};

// A tensor of a dtype that no layer supports.
struct OtherTensor {
    std::string dtype; // as the file's format writes it
    Shape shape;
    std::span<const std::byte> stored;
    std::shared_ptr<const void> owner;
};

class Weights {
  public:
    Weights() = default;
    // `file` is where the tensors were read, for messages.
    explicit Weights(std::filesystem::path file) : file_(std::move(file)) {}
    // Tensors that are not from a file.
    static Weights of(std::map<std::string, Tensor, std::less<>> tensors);

    // Adding another weight, or rows of it, under a second name copies nothing. Both throw Error(input) for a name that
    // is taken.
    void add(const std::string &name, Weight weight);
    void add(const Weights &more);           // all entries of these
    void remove(std::string_view beginning); // of their names
    // Throws Error(input) if there is no such tensor, or if it has another number of values.
    void reshape(const std::string &name, const Shape &shape);
    // It is an error only if a layer uses it.
    void add_other(const std::string &name, OtherTensor tensor);

    [[nodiscard]] const std::map<std::string, Weight, std::less<>> &entries() const { return entries_; }
    [[nodiscard]] const std::map<std::string, OtherTensor, std::less<>> &others() const { return others_; }
    // Throws Error(input) if there is no such tensor, or if no layer supports its dtype.
    [[nodiscard]] const Weight &at(const std::string &name) const;
    // The bytes of the files that tensors are mapped from leave memory until they are touched.
    void let_go() const;
    // Throws Error(input) if a file that tensors are mapped from was cut meanwhile. Whoever has computed with them
    // asks.
    void expect_whole() const;
    // Empty if the tensors are not from a file.
    [[nodiscard]] const std::filesystem::path &file() const { return file_; }

  private:
    void expect_new(const std::string &name) const;
    void add_mappings(const Weight &weight);

    std::filesystem::path file_;
    std::map<std::string, Weight, std::less<>> entries_;
    std::map<std::string, OtherTensor, std::less<>> others_;
    std::set<const Mapping *> mappings_; // of the entries, which own them
};

} // namespace lamina::model
