#include "model/zip.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace lamina::model {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

// Where a structure begins, its size without what follows it, and its fields.
constexpr uint32_t local_header = 0x04034b50, central_header = 0x02014b50, end_record = 0x06054b50,
                   end_record_64 = 0x06064b50, end_locator_64 = 0x07064b50;
constexpr uint64_t local_bytes = 30, central_bytes = 46, end_bytes = 22, end_bytes_64 = 56, locator_bytes = 20,
                   longest_comment = UINT16_MAX;
constexpr uint16_t field_64 = 1; // the extra field with sizes of 64 bits
constexpr uint16_t encrypted = 1, stored = 0;

class Zip {
  public:
    Zip(std::span<const std::byte> bytes, const std::filesystem::path &file) : bytes_(bytes), file_(file.string()) {}

    [[noreturn]] void refuse(uint64_t at, const std::string &why) const {
        throw Error(ErrorCode::input, file_ + ": byte " + std::to_string(at) + ": " + why);
    }
    [[noreturn]] void damaged(uint64_t at, const std::string &what) const {
        refuse(at, "expected " + what + ", which would reach beyond the file's " + std::to_string(bytes_.size()) +
                       " bytes: it is cut short or damaged; download it again");
    }

    [[nodiscard]] std::span<const std::byte> part(uint64_t at, uint64_t size, const std::string &what) const {
        if (at > bytes_.size() || size > bytes_.size() - at) damaged(at, what);
        return bytes_.subspan(at, size);
    }
    template <class T> [[nodiscard]] T number(uint64_t at, const char *what) const {
        T out = 0;
        std::memcpy(&out, part(at, sizeof out, what).data(), sizeof out);
        return out;
    }
    void expect(uint64_t at, uint32_t signature, const char *what) const {
        if (const auto found = number<uint32_t>(at, what); found != signature)
            refuse(at, std::string("expected ") + what + ", found other bytes: the file is damaged; download it again");
    }

    // The list of entries: where it begins, and how many there are.
    struct Directory {
        uint64_t at, entries;
    };
    [[nodiscard]] Directory directory() const {
        const uint64_t end = end_of_directory();
        Directory out{number<uint32_t>(end + 16, "where the list of entries begins"),
                      number<uint16_t>(end + 10, "the number of entries")};
        if (end < locator_bytes || number<uint32_t>(end - locator_bytes, "a locator") != end_locator_64) return out;
        const auto wide = number<uint64_t>(end - locator_bytes + 8, "where the end record of 64 bits begins");
        (void)part(wide, end_bytes_64, "an end record of 64 bits");
        expect(wide, end_record_64, "an end record of 64 bits");
        out.entries = number<uint64_t>(wide + 32, "the number of entries");
        out.at = number<uint64_t>(wide + 48, "where the list of entries begins");
        return out;
    }

    struct Entry {
        std::string name;
        std::span<const std::byte> bytes;
    };
    // The entry whose record is at `at`, which then is where the next one begins.
    [[nodiscard]] Entry entry(uint64_t &at) const {
        (void)part(at, central_bytes, "an entry of the list");
        expect(at, central_header, "an entry of the list");
        const auto flags = number<uint16_t>(at + 8, "flags"), method = number<uint16_t>(at + 10, "a method");
        const uint64_t name_bytes = number<uint16_t>(at + 28, "a length"),
                       extra_bytes = number<uint16_t>(at + 30, "a length"),
                       comment_bytes = number<uint16_t>(at + 32, "a length");
        const auto name = part(at + central_bytes, name_bytes, "the name of an entry");
        Entry out{std::string(reinterpret_cast<const char *>(name.data()), name.size()), {}};
        Sizes sizes{number<uint32_t>(at + 24, "a size"), number<uint32_t>(at + 20, "a size"),
                    number<uint32_t>(at + 42, "a place")};
        read_wide(sizes, at + central_bytes + name_bytes, extra_bytes);
        if ((flags & encrypted) != 0) refuse(at, "the entry " + in_quotes(out.name) + " is encrypted");
        if (method != stored || sizes.stored != sizes.whole)
            refuse(at, "the entry " + in_quotes(out.name) +
                           " is compressed; expected it as it is, as torch.save() stores it: unpack the file and pack "
                           "it again with 'zip -0'");
        out.bytes = contents(sizes, out.name);
        at += central_bytes + name_bytes + extra_bytes + comment_bytes;
        return out;
    }

  private:
    struct Sizes {
        uint64_t whole, stored, local;
    };

    [[nodiscard]] uint64_t end_of_directory() const {
        if (bytes_.size() >= end_bytes)
            for (uint64_t back = end_bytes; back <= std::min<uint64_t>(bytes_.size(), end_bytes + longest_comment);
                 ++back)
                if (number<uint32_t>(bytes_.size() - back, "an end record") == end_record) return bytes_.size() - back;
        refuse(bytes_.size(), "expected the end record of a zip file before the end of the file, found none: it is cut "
                              "short or damaged; download it again");
    }

    // Sizes of 32 bits whose bits are all set are in an extra field, in this order.
    void read_wide(Sizes &sizes, uint64_t at, uint64_t bytes) const {
        (void)part(at, bytes, "the extra fields of an entry");
        for (const uint64_t end = at + bytes; at + 4 <= end;) {
            const auto id = number<uint16_t>(at, "an extra field");
            const uint64_t size = number<uint16_t>(at + 2, "an extra field"), next = at + 4 + size;
            if (next > end) damaged(at, "an extra field of " + std::to_string(size) + " bytes");
            uint64_t value = at + 4;
            for (uint64_t *each : {&sizes.whole, &sizes.stored, &sizes.local}) {
                if (id != field_64 || *each != UINT32_MAX || value + 8 > next) continue;
                *each = number<uint64_t>(value, "a size");
                value += 8;
            }
            at = next;
        }
    }

    [[nodiscard]] std::span<const std::byte> contents(const Sizes &sizes, const std::string &name) const {
        const std::string what = "the entry " + in_quotes(name) + " of " + std::to_string(sizes.whole) + " bytes";
        (void)part(sizes.local, local_bytes, what);
        expect(sizes.local, local_header, "the header of an entry");
        const uint64_t begin = sizes.local + local_bytes + number<uint16_t>(sizes.local + 26, "a length") +
                               number<uint16_t>(sizes.local + 28, "a length");
        return part(begin, sizes.whole, what);
    }

    std::span<const std::byte> bytes_;
    std::string file_;
};

} // namespace

bool is_zip(std::span<const std::byte> bytes) {
    return bytes.size() >= sizeof local_header && std::memcmp(bytes.data(), &local_header, sizeof local_header) == 0;
}

std::map<std::string, std::span<const std::byte>, std::less<>> stored_entries(std::span<const std::byte> bytes,
                                                                              const std::filesystem::path &file) {
    const Zip zip(bytes, file);
    const Zip::Directory directory = zip.directory();
    std::map<std::string, std::span<const std::byte>, std::less<>> out;
    uint64_t at = directory.at;
    for (uint64_t i = 0; i < directory.entries; ++i) {
        const uint64_t begin = at;
        Zip::Entry entry = zip.entry(at);
        if (!out.emplace(entry.name, entry.bytes).second)
            zip.refuse(begin, "a second entry is called " + in_quotes(entry.name));
    }
    return out;
}

} // namespace lamina::model
