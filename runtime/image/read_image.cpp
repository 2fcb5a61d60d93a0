#include <lamina/image.hpp>

#include "base/file.hpp"
#include "base/own_files.hpp"
#include "image/codecs.hpp"

namespace lamina {

Image read_image(const std::filesystem::path &file) {
    constexpr uint64_t largest = uint64_t{1} << 30; // of a file
    const std::vector<std::byte> bytes = read_file(file, largest, FileReader::Kind::ordinary);
    return decode_image(bytes, file.string());
}

Image decode_image(std::span<const std::byte> file, const std::string &name, int64_t most_pixels) {
    Image out;
    own_function<image::DecodeImage>("image_codecs", "lamina_decode_image")(name, file, most_pixels, out);
    return out;
}

} // namespace lamina
