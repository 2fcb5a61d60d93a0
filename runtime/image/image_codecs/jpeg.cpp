// JPEG, by libjpeg.
#include "formats.hpp"

#include <cstdio> // which jpeglib.h needs

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <array>
#include <csetjmp>

namespace lamina::image {
namespace {

// libjpeg is C code, which must not be left by an exception: its errors jump.
struct JpegErrors {
    jpeg_error_mgr base{}; // the first member: libjpeg knows it alone
    jmp_buf out{};
    std::array<char, JMSG_LENGTH_MAX> why{};
};

JpegErrors &errors_of(j_common_ptr file) { return *reinterpret_cast<JpegErrors *>(file->err); }

void on_error(j_common_ptr file) {
    JpegErrors &errors = errors_of(file);
    file->err->format_message(file, errors.why.data());
    longjmp(errors.out, 1);
}

// A file that ends too early is only a warning to libjpeg, which makes up the rest.
void on_message(j_common_ptr file, int level) {
    if (level < 0 && (file->err->msg_code == JWRN_JPEG_EOF || file->err->msg_code == JWRN_HIT_MARKER)) on_error(file);
}

// A file may have any number of scans, of a few bytes each, and each goes through the whole image.
void on_progress(j_common_ptr file) {
    constexpr int most_scans = 100; // ten, as programs write them
    if (reinterpret_cast<j_decompress_ptr>(file)->input_scan_number <= most_scans) return;
    JpegErrors &errors = errors_of(file);
    std::snprintf(errors.why.data(), errors.why.size(), "it has more than %d scans", most_scans);
    longjmp(errors.out, 1);
}

struct Jpeg {
    JpegErrors errors;
    jpeg_progress_mgr progress{};
    jpeg_decompress_struct file{};
    Jpeg() {
        file.err = jpeg_std_error(&errors.base);
        errors.base.error_exit = on_error;
        errors.base.emit_message = on_message;
    }
    Jpeg(const Jpeg &) = delete;
    Jpeg &operator=(const Jpeg &) = delete;
    ~Jpeg() { jpeg_destroy_decompress(&file); }
};

// The functions that jump have no objects with destructors of their own. False: an error, and `errors` says which.
bool read_head(Jpeg &jpeg, std::span<const std::byte> bytes) {
    if (setjmp(jpeg.errors.out) != 0) return false;
    jpeg_create_decompress(&jpeg.file);
    jpeg_mem_src(&jpeg.file, reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size());
    jpeg_save_markers(&jpeg.file, JPEG_APP0 + 1, 0xffff);
    (void)jpeg_read_header(&jpeg.file, TRUE);
    const bool four = jpeg.file.jpeg_color_space == JCS_CMYK || jpeg.file.jpeg_color_space == JCS_YCCK;
    jpeg.file.out_color_space = four ? JCS_CMYK : JCS_RGB;
    return true;
}

bool read_rows(Jpeg &jpeg, uint8_t *to, size_t row_bytes) {
    if (setjmp(jpeg.errors.out) != 0) return false;
    jpeg.progress.progress_monitor = on_progress;
    jpeg.file.progress = &jpeg.progress;
    (void)jpeg_start_decompress(&jpeg.file);
    while (jpeg.file.output_scanline < jpeg.file.output_height) {
        JSAMPROW row = to + jpeg.file.output_scanline * row_bytes;
        (void)jpeg_read_scanlines(&jpeg.file, &row, 1);
    }
    (void)jpeg_finish_decompress(&jpeg.file);
    return true;
}

// Inks are stored inverted, as Adobe's programs do (Pillow, JpegImagePlugin.py): each colour is what its ink and black
// let through.
void turn_inks_into_colours(Picture &picture) {
    std::vector<uint8_t> colours;
    colours.reserve(picture.values.size() / 4 * 3);
    for (size_t i = 0; i < picture.values.size(); i += 4)
        for (size_t c = 0; c < 3; ++c)
            colours.push_back(static_cast<uint8_t>((picture.values[i + c] * picture.values[i + 3] + 127) / 255));
    picture.values = std::move(colours);
    picture.channels = 3;
}

} // namespace

bool is_jpeg(std::span<const std::byte> bytes) {
    return bytes.size() >= 3 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8} &&
           bytes[2] == std::byte{0xff};
}

Picture read_jpeg(const File &file) {
    Jpeg jpeg;
    const auto fail = [&] { refuse(file, std::string("cannot be read as JPEG: ") + jpeg.errors.why.data()); };
    if (!read_head(jpeg, file.bytes)) fail();
    Picture out;
    const bool four = jpeg.file.out_color_space == JCS_CMYK;
    allocate(file, out, jpeg.file.image_width, jpeg.file.image_height, four ? 4 : 3);
    for (const jpeg_marker_struct *marker = jpeg.file.marker_list; marker != nullptr; marker = marker->next) {
        const std::span data(reinterpret_cast<const std::byte *>(marker->data), marker->data_length);
        if (data.size() < 4 || data[0] != std::byte{'E'} || data[1] != std::byte{'x'}) continue; // or XMP
        out.owned.assign(data.begin(), data.end());
        out.exif = out.owned;
        break;
    }
    if (!read_rows(jpeg, out.values.data(), static_cast<size_t>(out.width) * out.channels)) fail();
    if (four) turn_inks_into_colours(out);
    return out;
}

} // namespace lamina::image
