// WebP, by libwebp.
#include "formats.hpp"

#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>
#include <string_view>

namespace lamina::image {
namespace {

struct Delete {
    void operator()(WebPDemuxer *file) const { WebPDemuxDelete(file); }
};

struct Frame : WebPIterator {
    Frame() : WebPIterator{} {}
    Frame(const Frame &) = delete;
    Frame &operator=(const Frame &) = delete;
    ~Frame() { WebPDemuxReleaseIterator(this); }
};

const uint8_t *as_webp(std::span<const std::byte> bytes) { return reinterpret_cast<const uint8_t *>(bytes.data()); }

} // namespace

bool is_webp(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    return text.starts_with("RIFF") && text.size() >= 12 && text.substr(8, 4) == "WEBP";
}

Picture read_webp(const File &file) {
    const WebPData data{as_webp(file.bytes), file.bytes.size()};
    const std::unique_ptr<WebPDemuxer, Delete> whole(WebPDemux(&data));
    Frame frame;
    if (whole == nullptr || WebPDemuxGetFrame(whole.get(), 1, &frame) == 0)
        refuse(file, "cannot be read as WebP: the file is truncated or damaged");
    Picture out;
    const uint32_t width = WebPDemuxGetI(whole.get(), WEBP_FF_CANVAS_WIDTH),
                   height = WebPDemuxGetI(whole.get(), WEBP_FF_CANVAS_HEIGHT);
    allocate(file, out, width, height, 4);
    // A frame of an animation may fill a part of the picture, of which the rest is transparent.
    uint8_t *to =
        out.values.data() + (static_cast<size_t>(frame.y_offset) * width + static_cast<size_t>(frame.x_offset)) * 4;
    const size_t room = out.values.size() - static_cast<size_t>(to - out.values.data());
    if (WebPDecodeRGBAInto(frame.fragment.bytes, frame.fragment.size, to, room, static_cast<int>(width * 4)) == nullptr)
        refuse(file, "cannot be read as WebP: the picture is truncated or damaged");
    WebPChunkIterator chunk{};
    if (WebPDemuxGetChunk(whole.get(), "EXIF", 1, &chunk) != 0) {
        const auto *const bytes = reinterpret_cast<const std::byte *>(chunk.chunk.bytes);
        out.exif = {bytes, chunk.chunk.size};
    }
    WebPDemuxReleaseChunkIterator(&chunk);
    return out;
}

} // namespace lamina::image
