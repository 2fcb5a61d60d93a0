#include "matrix.hpp"

#include "base/thread_end.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

namespace lamina::plugin::cpu_fallback {
namespace {

constexpr std::align_val_t line{64};
constexpr size_t most_kept = size_t{32} << 20; // bytes, a thread

struct Block {
    void *at;
    size_t bytes;
};

// What a thread keeps.
class Kept {
  public:
    Kept() = default;
    Kept(const Kept &) = delete;
    Kept &operator=(const Kept &) = delete;
    ~Kept() {
        for (const Block &block : blocks_) ::operator delete(block.at, line);
    }

    // The smallest block with that many bytes, or a new one.
    Block take(size_t bytes) {
        auto best = blocks_.end();
        for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
            if (block->bytes >= bytes && (best == blocks_.end() || block->bytes < best->bytes)) best = block;
        if (best == blocks_.end()) return {::operator new(bytes, line), bytes};
        const Block out = *best;
        blocks_.erase(best);
        all_ -= out.bytes;
        return out;
    }
    void give_back(Block block) noexcept {
        try {
            blocks_.push_back(block);
        } catch (const std::bad_alloc &) {
            return ::operator delete(block.at, line);
        }
        all_ += block.bytes;
        for (; all_ > most_kept; blocks_.erase(blocks_.begin())) {
            all_ -= blocks_.front().bytes;
            ::operator delete(blocks_.front().at, line);
        }
    }

  private:
    std::vector<Block> blocks_; // those given back last at the end
    size_t all_ = 0;
};

Kept &kept() {
    thread_local Kept *all = nullptr;
    if (all == nullptr) {
        auto made = std::make_unique<Kept>();
        at_thread_end([](void *object) { delete static_cast<Kept *>(object); }, made.get());
        all = made.release();
    }
    return *all;
}

} // namespace

KeptMemory::KeptMemory(size_t bytes) {
    if (bytes == 0) return;
    const Block block = kept().take(bytes);
    at_ = block.at, bytes_ = block.bytes;
}

KeptMemory::~KeptMemory() {
    if (at_ != nullptr) kept().give_back({at_, bytes_});
}

} // namespace lamina::plugin::cpu_fallback
