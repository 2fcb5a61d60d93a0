#include "cpu/weights.hpp"

#include "base/large_pages.hpp"
#include "base/storage.hpp"
#include "cpu/widen.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace lamina::cpu {
namespace {

// The system takes time to find memory. What is lent over and over again is kept up to this size; what is larger is
// given back, because a model is made of few steps like that.
constexpr uint64_t most_spare = uint64_t{1} << 26;

bool lies_in_words(const model::Weight &weight) {
    const bool words = weight.type.dtype == DType::f32 || weight.type.dtype == DType::i32;
    if (!words || weight.made != nullptr) return words; // what is made of others is aligned
    return reinterpret_cast<uintptr_t>(weight.stored.data()) % alignof(float) == 0;
}

uint64_t values_of(const model::Weight &weight) { return static_cast<uint64_t>(element_count(weight.type.shape)); }

} // namespace

uint64_t Weights::bytes_to_widen(const std::string &name) const {
    return lies_in_words(at(name)) || kept_.contains(name) ? 0 : values_of(at(name)) * sizeof(float);
}

uint64_t Weights::bytes_to_widen(const std::vector<std::string> &names) const {
    uint64_t bytes = 0;
    for (const std::string &name : names) bytes += bytes_to_widen(name);
    return bytes;
}

void Weights::count(int64_t bytes) {
    if (counts_ == nullptr) return;
    counts_->now += static_cast<uint64_t>(bytes); // may be negative
    counts_->most = std::max(counts_->most, counts_->now);
}

const void *Weights::words(const std::string &name) {
    const model::Weight &weight = at(name);
    if (lies_in_words(weight)) return weight.bytes().data();
    auto found = kept_.find(name);
    if (found == kept_.end()) {
        Memory memory(values_of(weight) * sizeof(float));
        widen(weight, memory.data(), 1);
        count(static_cast<int64_t>(values_of(weight) * sizeof(float)));
        found = kept_.emplace(name, std::move(memory)).first;
    }
    return found->second.data();
}

const void *Weights::arranged(const std::string &name, uint64_t bytes, const std::function<bool(void *)> &fill) {
    if (const auto found = arranged_.find(name); found != arranged_.end()) return found->second.memory.data();
    if (bytes > room_) return nullptr;
    LargePages memory = LargePages::of(static_cast<size_t>(bytes));
    if (memory.data() == nullptr || !fill(memory.data())) return nullptr;
    room_ -= bytes;
    at(name).let_go();
    return arranged_.emplace(name, Arranged{std::move(memory), bytes}).first->second.memory.data();
}

void Weights::remove(const std::string &beginning) {
    const auto is_one = [&](const auto &entry) { return entry.first.starts_with(beginning); };
    for (const auto &[name, memory] : kept_)
        if (name.starts_with(beginning)) count(-static_cast<int64_t>(memory.bytes()));
    for (const auto &[name, one] : arranged_)
        if (name.starts_with(beginning)) room_ += one.bytes;
    std::erase_if(kept_, is_one);
    std::erase_if(arranged_, is_one);
    stored_.remove(beginning);
}

Memory Weights::lend(uint64_t bytes) {
    if (spare_.bytes() >= bytes) return std::exchange(spare_, Memory(0));
    count(-static_cast<int64_t>(spare_.bytes()));
    spare_ = Memory(0);
    if (bytes > most_spare) stored_.let_go(); // the copies take the place of what other steps have read
    count(static_cast<int64_t>(bytes));
    Memory memory(bytes);
    prefer_large_pages(std::as_writable_bytes(std::span(memory.data(), memory.size())));
    return memory;
}

void Weights::take_back(Memory copies) {
    if (copies.bytes() <= most_spare)
        spare_ = std::move(copies);
    else
        count(-static_cast<int64_t>(copies.bytes()));
}

Weights::Lent::Lent(Weights &weights, const std::vector<std::string> &names, size_t threads)
    : weights_(weights), copies_(weights.lend(weights.bytes_to_widen(names))) {
    float *next = copies_.data();
    for (const std::string &name : names) {
        if (weights.bytes_to_widen(name) == 0) {
            words_.push_back(weights.words(name));
            continue;
        }
        widen(weights.at(name), next, threads);
        words_.push_back(next);
        next += values_of(weights.at(name));
    }
}

} // namespace lamina::cpu
