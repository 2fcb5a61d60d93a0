#include "model/weights.hpp"

#include "base/nearest.hpp"
#include "base/utf8.hpp"

namespace lamina::model {

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
    const size_t row = all == 0 ? 0 : bytes.size() / static_cast<size_t>(all);
    out.bytes = bytes.subspan(static_cast<size_t>(begin) * row, static_cast<size_t>(end - begin) * row);
    return out;
}

void Weight::let_go() const {
    if (mapping_of(bytes) != nullptr) lamina::let_go(bytes);
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
    if (const Mapping *mapping = mapping_of(weight.bytes)) mappings_.insert(mapping);
    entries_.emplace(name, std::move(weight));
}

void Weights::let_go() const {
    for (const Mapping *mapping : mappings_) lamina::let_go(*mapping);
}

void Weights::expect_whole() const {
    for (const Mapping *mapping : mappings_) lamina::expect_whole(*mapping);
}

void Weights::add_other(const std::string &name, const std::string &dtype) {
    expect_new(name);
    others_.emplace(name, dtype);
}

const Weight &Weights::at(const std::string &name) const {
    if (const auto found = entries_.find(name); found != entries_.end()) return found->second;
    if (const auto other = others_.find(name); other != others_.end())
        throw Error(ErrorCode::input, file_.string() + ": tensor " + in_quotes(name) + " is " + other->second +
                                          "; expected " + plugin::dtype_names(plugin::weight_dtypes | LAMINA_I32));
    throw Error(ErrorCode::input,
                file_.string() + ": no tensor " + in_quotes(name) + instead_of(name, names_of(entries_)));
}

} // namespace lamina::model
