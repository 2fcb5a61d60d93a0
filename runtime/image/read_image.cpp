#include <lamina/image.hpp>

#include "base/file.hpp"
#include "base/own_files.hpp"
#include "image/codecs.hpp"

namespace lamina {

Image read_image(const std::filesystem::path &file) {
    constexpr uint64_t largest = uint64_t{1} << 30; // of a file
    const std::vector<std::byte> bytes = read_file(file, largest, FileReader::Kind::ordinary);
    Image out;
    own_function<image::DecodeImage>("image_codecs", "lamina_decode_image")(file.string(), bytes, out);
    return out;
}

} // namespace lamina
