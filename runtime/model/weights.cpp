#include "model/weights.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

namespace lamina::model {

// A tensor that is made when it is needed.
class Made {
  public:
    Made(TensorType type, std::vector<Weight> parts, std::function<void(std::span<std::byte>)> fill)
        : type_(std::move(type)), parts_(std::move(parts)), fill_(std::move(fill)) {}

    [[nodiscard]] Tensor make() const {
        Tensor whole(type_);
        fill_(whole.bytes());
        for (const Weight &part : parts_) part.let_go();
        return whole;
    }
    [[nodiscard]] std::span<const std::byte> bytes() const {
        std::call_once(once_, [&] { whole_ = make(), is_made_ = true; });
        return std::as_const(whole_).bytes();
    }

    [[nodiscard]] bool is_made() const { return is_made_; }
    [[nodiscard]] bool is_all_of(const TensorType &type) const { return type.bytes() == type_.bytes(); }
    [[nodiscard]] const std::vector<Weight> &parts() const { return parts_; }

  private:
    TensorType type_;
    std::vector<Weight> parts_;
    std::function<void(std::span<std::byte>)> fill_;
    mutable std::atomic<bool> is_made_ = false;
    mutable std::once_flag once_;
    mutable Tensor whole_;
};

std::span<const std::byte> Weight::bytes() const {
    return made != nullptr ? made->bytes().subspan(first, type.bytes()) : stored;
}

// Rows of what is made are asked for one after the other, so all of it is kept for the next.
Weight::Once Weight::once() const {
    if (made == nullptr || made->is_made() || !made->is_all_of(type)) return {bytes(), owner};
    const auto whole = std::make_shared<const Tensor>(made->make());
    return {whole->bytes(), whole};
}

uint64_t Weight::bytes_to_copy() const { return made != nullptr && !made->is_made() ? type.bytes() : 0; }

Weight Weight::made_of(TensorType type, std::vector<Weight> parts, std::function<void(std::span<std::byte>)> fill) {
    auto made = std::make_shared<const Made>(type, std::move(parts), std::move(fill));
    return {std::move(type), {}, nullptr, std::move(made)};
}

Weight Weight::stacked(const std::vector<Weight> &parts) {
    Weight out = parts.front();
    bool adjacent = true;
    const std::byte *next = out.stored.data();
    for (const Weight &part : parts) {
        if (part.type != out.type)
            throw Error(ErrorCode::input, "tensors of shapes " + to_string(out.type.shape) + " and " +
                                              to_string(part.type.shape) + " and of dtypes " + name_of(out.type.dtype) +
                                              " and " + name_of(part.type.dtype) + " cannot be stacked");
        adjacent = adjacent && part.made == nullptr && part.owner == out.owner && part.stored.data() == next;
        if (adjacent) next += part.stored.size();
    }
    out.type.shape.insert(out.type.shape.begin(), static_cast<int64_t>(parts.size()));
    if (adjacent) out.stored = {out.stored.data(), out.stored.size() * parts.size()};
    if (adjacent) return out;
    return made_of(std::move(out.type), parts, [parts](std::span<std::byte> whole) {
        std::byte *to = whole.data();
        for (const Weight &part : parts) {
            to = std::ranges::copy(part.bytes(), to).out;
            part.let_go();
        }
    });
}

Weight Weight::entry(int64_t i) const {
    Weight out = rows(i, i + 1);
    out.type.shape.erase(out.type.shape.begin());
    return out;
}

Weight Weight::shaped(const Shape &shape) const {
    Weight out = *this;
    out.type.shape = shape;
    const int64_t block = storage_of(type.dtype).block_values; // which both have whole in each row
    const bool whole = block == 1 || (!shape.empty() && !type.shape.empty() && shape.back() % block == 0 &&
                                      type.shape.back() % block == 0);
    if (!whole || element_count(shape) != element_count(type.shape))
        throw Error(ErrorCode::input, "a tensor of shape " + to_string(type.shape) + " and of dtype " +
                                          name_of(type.dtype) + " cannot have the shape " + to_string(shape));
    return out;
}

Weight Weight::of(Tensor tensor) {
    const auto owner = std::make_shared<const Tensor>(std::move(tensor));
    return {owner->type(), owner->bytes(), owner};
}

Weight Weight::rows(int64_t begin, int64_t end) const {
    const bool cuttable = type.shape.size() > 1 || (type.shape.size() == 1 && storage_of(type.dtype).block_values == 1);
    const int64_t all = cuttable ? type.shape.front() : 0; // a single row in blocks cannot be cut
    if (begin < 0 || begin > end || end > all)
        throw Error(ErrorCode::input, "rows " + std::to_string(begin) + " to " + std::to_string(end) +
                                          " of a tensor of shape " + to_string(type.shape));
    Weight out = *this;
    out.type.shape.front() = end - begin;
    const size_t row = all == 0 ? 0 : (made != nullptr ? type.bytes() : stored.size()) / static_cast<size_t>(all);
    if (made != nullptr)
        out.first += static_cast<size_t>(begin) * row;
    else
        out.stored = stored.subspan(static_cast<size_t>(begin) * row, static_cast<size_t>(end - begin) * row);
    return out;
}

void Weight::let_go() const {
    if (mapping_of(stored) != nullptr) lamina::let_go(stored);
}

bool Weight::is_same(const Weight &other) const {
    if (type != other.type || first != other.first || changed != nullptr || other.changed != nullptr ||
        (made == nullptr) != (other.made == nullptr))
        return false;
    if (made != nullptr)
        return std::ranges::equal(made->parts(), other.made->parts(),
                                  [](const Weight &a, const Weight &b) { return a.is_same(b); });
    // What is not in a file was made of something, maybe of what adapters changed.
    return mapping_of(stored) != nullptr || std::ranges::equal(stored, other.stored);
}

Weights Weights::of(std::map<std::string, Tensor, std::less<>> tensors) {
    Weights out("(tensors in memory)");
    for (auto &[name, tensor] : tensors) out.add(name, Weight::of(std::move(tensor)));
    return out;
}

void Weights::expect_new(const std::string &name) const {
    if (entries_.contains(name) || others_.contains(name))
        throw Error(ErrorCode::input, file_.string() + ": a second tensor is called " + in_quotes(name));
}

void Weights::add(const std::string &name, Weight weight) {
    expect_new(name);
    add_mappings(weight);
    entries_.emplace(name, std::move(weight));
}

void Weights::add(const Weights &more) {
    for (const auto &[name, weight] : more.entries()) add(name, weight);
}

void Weights::add_mappings(const Weight &weight) {
    if (const Mapping *mapping = mapping_of(weight.stored)) mappings_.insert(mapping);
    if (weight.made != nullptr)
        for (const Weight &part : weight.made->parts()) add_mappings(part);
}

void Weights::let_go() const {
    for (const Mapping *mapping : mappings_) lamina::let_go(*mapping);
}

void Weights::expect_whole() const {
    for (const Mapping *mapping : mappings_) lamina::expect_whole(*mapping);
}

void Weights::remove(std::string_view beginning) {
    std::erase_if(entries_, [&](const auto &entry) { return entry.first.starts_with(beginning); });
    mappings_.clear();
    for (const auto &[name, weight] : entries_) add_mappings(weight);
}

void Weights::reshape(const std::string &name, const Shape &shape) {
    Weight reshaped = at(name).shaped(shape);
    entries_.find(name)->second = std::move(reshaped);
}

void Weights::add_other(const std::string &name, OtherTensor tensor) {
    expect_new(name);
    others_.emplace(name, std::move(tensor));
}

const Weight &Weights::at(const std::string &name) const {
    if (const auto found = entries_.find(name); found != entries_.end()) return found->second;
    if (const auto other = others_.find(name); other != others_.end())
        throw Error(ErrorCode::input, file_.string() + ": tensor " + in_quotes(name) + " is " + other->second.dtype +
                                          "; expected " + plugin::dtype_names(plugin::weight_dtypes | LAMINA_I32));
    throw Error(ErrorCode::input,
                file_.string() + ": no tensor " + in_quotes(name) + instead_of(name, names_of(entries_)));
}

} // namespace lamina::model
