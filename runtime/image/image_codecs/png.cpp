// PNG, by libpng.
#include "formats.hpp"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>

namespace lamina::image {
namespace {

// What libpng's callbacks need. They are called by C code, which must not be left by an exception: it jumps.
struct PngInput {
    std::span<const std::byte> rest;
    std::array<char, 200> why{};
};

void read_bytes(png_structp png, png_bytep to, size_t count) {
    auto &reading = *static_cast<PngInput *>(png_get_io_ptr(png));
    if (reading.rest.size() < count) png_error(png, "the file is truncated");
    std::copy_n(reinterpret_cast<const png_byte *>(reading.rest.data()), count, to);
    reading.rest = reading.rest.subspan(count);
}

void on_error(png_structp png, png_const_charp why) {
    auto &reading = *static_cast<PngInput *>(png_get_error_ptr(png));
    for (size_t i = 0; i + 1 < reading.why.size() && why[i] != 0; ++i) reading.why[i] = why[i];
    longjmp(png_jmpbuf(png), 1);
}

void on_warning(png_structp, png_const_charp) {}

struct Png {
    png_structp png;
    png_infop info;
    explicit Png(PngInput &reading)
        : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, on_error, on_warning)),
          info(png == nullptr ? nullptr : png_create_info_struct(png)) {
        if (info != nullptr) png_set_read_fn(png, &reading, read_bytes);
    }
    Png(const Png &) = delete;
    Png &operator=(const Png &) = delete;
    ~Png() { png_destroy_read_struct(&png, &info, nullptr); }
};

// The functions that jump have no objects with destructors of their own. False: an error, and `reading` says which.
bool read_head(const Png &file) {
    if (setjmp(png_jmpbuf(file.png)) != 0) return false;
    png_set_user_limits(file.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_cache_max(file.png, 1); // texts, of which a file may have gigabytes, compressed: none is kept
    png_read_info(file.png, file.info);
    return true;
}

// Each of 8 bits, and three or four channels.
bool expect_bytes(const Png &file) {
    if (setjmp(png_jmpbuf(file.png)) != 0) return false;
    png_set_expand(file.png); // palettes, fewer than 8 bits, and colours that are transparent
    png_set_strip_16(file.png);
    png_set_gray_to_rgb(file.png);
    (void)png_set_interlace_handling(file.png);
    png_read_update_info(file.png, file.info);
    return true;
}

bool read_rows(const Png &file, png_bytepp rows) {
    if (setjmp(png_jmpbuf(file.png)) != 0) return false;
    png_read_image(file.png, rows);
    png_read_end(file.png, file.info); // EXIF data may come last
    return true;
}

} // namespace

bool is_png(std::span<const std::byte> bytes) {
    return bytes.size() >= 8 && png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, 8) == 0;
}

Picture read_png(const File &file) {
    PngInput reading{file.bytes};
    const Png png(reading);
    if (png.info == nullptr) throw Error(ErrorCode::memory, file.name + ": no memory to read it");
    const auto fail = [&] { refuse(file, std::string("cannot be read as PNG: ") + reading.why.data()); };
    if (!read_head(png)) fail();
    const uint64_t width = png_get_image_width(png.png, png.info), height = png_get_image_height(png.png, png.info);
    expect_size(file, width, height); // before libpng has memory for a row
    if (!expect_bytes(png)) fail();
    Picture out;
    allocate(file, out, width, height, png_get_channels(png.png, png.info));
    const size_t row_bytes = static_cast<size_t>(out.width) * out.channels;
    std::vector<png_bytep> rows;
    for (size_t at = 0; at < out.values.size(); at += row_bytes) rows.push_back(out.values.data() + at);
    if (!read_rows(png, rows.data())) fail();
    png_bytep exif = nullptr;
    png_uint_32 size = 0;
    if (png_get_eXIf_1(png.png, png.info, &size, &exif) != 0) {
        const auto *const bytes = reinterpret_cast<const std::byte *>(exif);
        out.owned.assign(bytes, bytes + size);
        out.exif = out.owned;
    }
    return out;
}

} // namespace lamina::image
