#include "vulkan/pipeline_cache.hpp"

#include "base/cache_folder.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"

#include <cstring>

namespace lamina::vulkan {

namespace {

constexpr uint32_t magic = 0x43504D4C; // "LMPC" in the file
constexpr uint32_t version = 1;
constexpr uint64_t largest_file = 1ull << 30;

struct FileHeader {
    uint32_t magic, version;
    uint64_t checksum, bytes; // of the driver's data that follows
};

bool is_of_device(std::span<const std::byte> data, const PhysicalDevice &device) {
    VkPipelineCacheHeaderVersionOne header{};
    if (data.size() < sizeof header) return false;
    std::memcpy(&header, data.data(), sizeof header);
    return header.headerSize >= sizeof header && header.headerSize <= data.size() &&
           header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header.vendorID == device.info.vendor_id &&
           header.deviceID == device.info.device_id &&
           std::memcmp(header.pipelineCacheUUID, device.info.build.data(), VK_UUID_SIZE) == 0;
}

} // namespace

std::optional<std::filesystem::path> pipeline_cache_file(const DeviceInfo &device) {
    const auto folder = cache_folder();
    if (!folder) return std::nullopt;
    return *folder / ("pipelines_" + device.cache_key());
}

std::vector<std::byte> read_pipeline_cache(const std::filesystem::path &file, const PhysicalDevice &device) {
    std::vector<std::byte> bytes;
    try {
        bytes = read_file(file, largest_file, FileReader::Kind::ordinary);
    } catch (const Error &) {
        return {}; // an unreadable file counts as absent
    }
    FileHeader header{};
    if (bytes.size() < sizeof header) return {};
    std::memcpy(&header, bytes.data(), sizeof header);
    const auto data = std::span<const std::byte>(bytes).subspan(sizeof header);
    if (header.magic != magic || header.version != version || header.bytes != data.size() ||
        header.checksum != hash_of(data) || !is_of_device(data, device))
        return {};
    return {data.begin(), data.end()};
}

bool write_pipeline_cache(const std::filesystem::path &file, std::span<const std::byte> data) {
    const FileHeader header{magic, version, hash_of(data), data.size()};
    std::vector<std::byte> bytes(sizeof header + data.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!data.empty()) std::memcpy(bytes.data() + sizeof header, data.data(), data.size());
    std::error_code failed;
    std::filesystem::create_directories(file.parent_path(), failed);
    if (failed) return false;
    try {
        write_file(file, bytes, FileWriter::Existing::replace);
    } catch (const Error &) {
        return false;
    }
    return true;
}

} // namespace lamina::vulkan
