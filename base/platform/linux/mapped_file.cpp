#include "base/mapped_file.hpp"

#include "base/open_file.hpp"

#include <lamina/error.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <system_error>

#include <sys/mman.h>
#include <unistd.h>

namespace lamina {

// One of a list that only grows, so that a signal handler may walk it at any time. Those that are not mapped any more
// are used again.
class Mapping {
  public:
    static const Mapping *add(const std::filesystem::path &file, const void *at, size_t size);
    void remove() const { begin_ = end_ = 0; }

    static const Mapping *at(uintptr_t address);
    static void handle(int signal, siginfo_t *info, void *context);

    [[nodiscard]] const std::filesystem::path &file() const { return file_; }
    [[nodiscard]] std::span<const std::byte> bytes() const {
        return {reinterpret_cast<const std::byte *>(begin_.load()), end_ - begin_};
    }
    [[nodiscard]] bool lost() const { return lost_; }

  private:
    std::filesystem::path file_;
    mutable std::atomic<uintptr_t> begin_ = 0, end_ = 0; // addresses; 0: not in use
    mutable std::atomic<bool> lost_ = false;
    Mapping *next_ = nullptr;

    static inline std::atomic<Mapping *> first = nullptr;
    static inline struct sigaction before {}; // who handled SIGBUS
};

namespace {

uintptr_t page_size() {
    static const auto size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

} // namespace

const Mapping *Mapping::add(const std::filesystem::path &file, const void *at, size_t size) {
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    if (first == nullptr) {
        (void)page_size(); // known before the handler asks
        struct sigaction action {};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        ::sigaction(SIGBUS, &action, &before);
    }
    Mapping *mapping = first;
    while (mapping != nullptr && mapping->end_ != 0) mapping = mapping->next_;
    const bool is_new = mapping == nullptr;
    if (is_new) mapping = new Mapping;
    mapping->file_ = file;
    mapping->lost_ = false;
    mapping->begin_ = reinterpret_cast<uintptr_t>(at);
    mapping->end_ = reinterpret_cast<uintptr_t>(at) + size;
    if (is_new) {
        mapping->next_ = first;
        first = mapping;
    }
    return mapping;
}

const Mapping *Mapping::at(uintptr_t address) {
    for (const Mapping *each = first; each != nullptr; each = each->next_)
        if (address >= each->begin_ && address < each->end_) return each;
    return nullptr;
}

// Zeros take the place of the page that cannot be read and of all after it, which a cut file has lost as well.
void Mapping::handle(int signal, siginfo_t *info, void *context) {
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    if (const Mapping *mapping = at(address)) {
        const int error = errno;
        const uintptr_t page = address / page_size() * page_size();
        void *zeros = ::mmap(reinterpret_cast<void *>(page), mapping->end_ - page, PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
        errno = error;
        mapping->lost_ = true;
        if (zeros != MAP_FAILED) return;
    }
    if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
    ::sigaction(SIGBUS, &before, nullptr); // the access is repeated, and ends the process as it would have
}

const Mapping *mapping_of(std::span<const std::byte> bytes) {
    return bytes.empty() ? nullptr : Mapping::at(reinterpret_cast<uintptr_t>(bytes.data()));
}

void expect_whole(const Mapping &mapping) {
    if (mapping.lost())
        throw Error(ErrorCode::input, mapping.file().string() +
                                          ": a part of it could not be read while it was in use: the file was cut, or "
                                          "its disk failed. Load the model again from a whole file");
}

MappedFile MappedFile::open(const std::filesystem::path &file) {
    const auto refuse = [&](const std::string &why) { throw Error(ErrorCode::input, file.string() + ": " + why); };
    const auto reason = [](int error) { return std::generic_category().message(error); };
    const OpenFile opened = open_to_read(file, false);
    if (opened.number < 0) refuse(reason(errno));
    const auto size = static_cast<size_t>(opened.size);
    const bool ordinary = opened.kind == FileKind::ordinary;
    void *at = ordinary && size != 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.number, 0) : nullptr;
    const int error = errno;
    close_file(opened.number);
    if (!ordinary) refuse("expected an ordinary file");
    if (size == 0) return {}; // nothing to map
    if (at == MAP_FAILED && error == ENOMEM)
        throw Error(ErrorCode::memory,
                    file.string() + ": memory has no room for its " + std::to_string(size) + " bytes");
    if (at == MAP_FAILED) refuse("cannot be mapped: " + reason(error));
    return {{static_cast<const std::byte *>(at), size},
            std::shared_ptr<const void>(at, [size, mapping = Mapping::add(file, at, size)](const void *p) {
                mapping->remove();
                ::munmap(const_cast<void *>(p), size);
            })};
}

// Whole pages only: what shares a page with other bytes stays.
void let_go(std::span<const std::byte> mapped) {
    const uintptr_t page = page_size();
    const auto begin = reinterpret_cast<uintptr_t>(mapped.data());
    const uintptr_t first = (begin + page - 1) / page * page, last = (begin + mapped.size()) / page * page;
    if (first < last) (void)::madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
}

// Where zeros have taken the place of what was lost, they stay zeros.
void let_go(const Mapping &mapping) { let_go(mapping.bytes()); }

} // namespace lamina
