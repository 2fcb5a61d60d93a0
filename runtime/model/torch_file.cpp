#include "model/torch_file.hpp"

#include "base/lfs_pointer.hpp"
#include "base/mapped_file.hpp"
#include "base/utf8.hpp"
#include "model/torch_tensors.hpp"
#include "model/zip.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace lamina::model {
namespace {

using Entries = std::map<std::string, std::span<const std::byte>, std::less<>>;

[[noreturn]] void refuse_file(const std::filesystem::path &file, const std::string &why) {
    throw Error(ErrorCode::input, file.string() + ": " + why);
}

std::string_view text_of_entry(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

// ---- Since PyTorch 1.6: NAME/data.pkl, NAME/data/KEY for each storage, NAME/byteorder ----

Weights read_zip(const std::filesystem::path &file, std::span<const std::byte> bytes_of_file,
                 const std::shared_ptr<const void> &owner) {
    constexpr std::string_view pickle_name = "data.pkl";
    const Entries entries = stored_entries(bytes_of_file, file);
    const auto found = std::ranges::find_if(entries, [&](const auto &entry) {
        const std::string_view name = entry.first;
        return name.ends_with(pickle_name) && std::ranges::count(name, '/') == 1 &&
               name.size() - pickle_name.size() == name.find('/') + 1;
    });
    if (found == entries.end())
        refuse_file(file, "a zip file, but not of PyTorch: expected an entry NAME/data.pkl, found none");
    const std::string folder = found->first.substr(0, found->first.size() - pickle_name.size());
    if (const auto order = entries.find(folder + "byteorder");
        order != entries.end() && text_of_entry(order->second) != "little")
        refuse_file(file, "expected the byte order 'little', found " + in_quotes(text_of_entry(order->second)) +
                              ": save the model again on a little-endian machine");
    const auto storage = [&](const std::string &key, uint64_t bytes) {
        const auto entry = entries.find(folder + "data/" + key);
        const std::string name = in_quotes(folder + "data/" + key);
        if (entry == entries.end())
            refuse_file(file, "expected the entry " + name + ", which a tensor is in: the file is damaged");
        if (entry->second.size() < bytes)
            refuse_file(file, "the entry " + name + ": expected " + std::to_string(bytes) + " bytes, found " +
                                  std::to_string(entry->second.size()) + ": the file is damaged");
        return entry->second.first(bytes);
    };
    uint64_t at = 0;
    const Pickle pickle(found->second, at, file.string() + ": " + printable(found->first), is_of_torch_tensors);
    return torch_tensors(pickle, storage, owner, Weights(file));
}

// ---- Before: five pickles (a magic number, a version, a machine, the tensors, the keys of storages), then the
// storages, each after the number of its values ----

constexpr std::string_view torch_magic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);

bool begins_as_legacy(std::span<const std::byte> bytes) {
    constexpr std::string_view start("\x80\x02\x8a\x0a", 4); // protocol 2, an integer of 10 bytes
    const std::string_view text = text_of_entry(bytes);
    return text.starts_with(start) && text.substr(start.size()).starts_with(torch_magic);
}

void expect_little_endian(const Pickle &machine) {
    for (const auto &[key, value] : machine.as<Pickle::Dict>(machine.top(), "what the machine was that wrote it").items)
        if (const auto *name = std::get_if<std::string_view>(&machine.at(key));
            name != nullptr && *name == "little_endian")
            if (!machine.as<bool>(value, "whether it was little-endian"))
                machine.fail("it was written on a big-endian machine: save the model again on another one");
}

Weights read_legacy(const std::filesystem::path &file, std::span<const std::byte> bytes_of_file,
                    const std::shared_ptr<const void> &owner) {
    uint64_t at = 0;
    const auto next = [&] { return Pickle(bytes_of_file, at, file.string(), is_of_torch_tensors); };
    (void)next(); // the magic number
    constexpr int64_t known_version = 1001;
    const Pickle version = next();
    if (const auto found = version.as<int64_t>(version.top(), "the version of the format"); found != known_version)
        version.fail("version " + std::to_string(found) + " of the format; expected " + std::to_string(known_version));
    expect_little_endian(next());
    const Pickle tensors = next();
    const Pickle keys = next();

    std::map<std::string, int64_t, std::less<>> value_bytes; // of each storage
    for (Pickle::Ref ref = 0; ref < tensors.size(); ++ref)
        if (std::holds_alternative<Pickle::Persistent>(tensors.at(ref))) {
            const TorchStorage storage = torch_storage(tensors, ref);
            value_bytes.emplace(storage.key, storage.value_bytes);
        }
    Entries storages;
    for (const Pickle::Ref key : keys.as<Pickle::Sequence>(keys.top(), "the keys of storages").items) {
        const std::string name(keys.as<std::string_view>(key, "the key of a storage"));
        const auto known = value_bytes.find(name);
        const std::span<const std::byte> rest = bytes_of_file.subspan(at);
        int64_t count = 0;
        uint64_t bytes = 0;
        if (rest.size() >= sizeof count) std::memcpy(&count, rest.data(), sizeof count);
        if (known == value_bytes.end() || count < 0 ||
            __builtin_mul_overflow(static_cast<uint64_t>(count), static_cast<uint64_t>(known->second), &bytes))
            keys.fail("byte " + std::to_string(at) + ": the storage " + in_quotes(name) + " of " +
                      std::to_string(count) + " values is of no tensor: the file is damaged");
        if (rest.size() < sizeof count || bytes > rest.size() - sizeof count)
            keys.fail("byte " + std::to_string(at) + ": the storage " + in_quotes(name) + ": expected " +
                      std::to_string(bytes) + " bytes, and the file ends after " +
                      std::to_string(rest.size() - std::min(rest.size(), sizeof count)) +
                      ": it is cut short; download it again");
        storages.emplace(name, rest.subspan(sizeof count, bytes));
        at += sizeof count + bytes;
    }
    const auto storage = [&](const std::string &key, uint64_t bytes) {
        const auto found = storages.find(key);
        if (found == storages.end() || found->second.size() < bytes)
            refuse_file(
                file, "the storage " + in_quotes(key) + ": expected " + std::to_string(bytes) + " bytes, found " +
                          std::to_string(found == storages.end() ? 0 : found->second.size()) + ": the file is damaged");
        return found->second.first(bytes);
    };
    return torch_tensors(tensors, storage, owner, Weights(file));
}

} // namespace

Weights parse_torch_file(std::span<const std::byte> bytes, const std::shared_ptr<const void> &owner,
                         const std::filesystem::path &file) {
    if (is_zip(bytes)) return read_zip(file, bytes, owner);
    if (begins_as_legacy(bytes)) return read_legacy(file, bytes, owner);
    refuse_file(file,
                "not a file of torch.save(): expected a zip file, or a pickle with PyTorch's magic number, found " +
                    std::to_string(bytes.size()) + " bytes of something else");
}

Weights open_torch_file(const std::filesystem::path &file) {
    const MappedFile mapped = MappedFile::open(file);
    refuse_lfs_pointer(file, mapped.bytes);
    return parse_torch_file(mapped.bytes, mapped.owner, file);
}

} // namespace lamina::model
