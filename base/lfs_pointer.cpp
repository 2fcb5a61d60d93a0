#include "base/lfs_pointer.hpp"

#include <lamina/error.hpp>

#include <string_view>

namespace lamina {

void refuse_lfs_pointer(const std::filesystem::path &file, std::span<const std::byte> bytes) {
    constexpr std::string_view first_line = "version https://git-lfs.github.com/spec/";
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    if (text.starts_with(first_line))
        throw Error(ErrorCode::input, file.string() + ": a pointer of Git LFS in place of the file itself: 'git lfs "
                                                      "pull', run in its folder, downloads the file");
}

} // namespace lamina
