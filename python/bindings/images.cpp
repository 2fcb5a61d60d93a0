// Images, of image.hpp.
#include "call.hpp"
#include "module.hpp"
#include "tensors.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <lamina/image.hpp>

namespace lamina::python {

void add_images(nb::module_ &m) {
    nb::class_<Image>(m, "Image", "Pixels of an image: red, green and blue, from 0 to 255.")
        .def(
            "__init__",
            [](Image *self, const nb::ndarray<const uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu> &pixels) {
                if (pixels.shape(2) != 3)
                    throw Error(ErrorCode::input, "expected an array of (height, width, 3), for red, green and blue, "
                                                  "found " +
                                                      std::to_string(pixels.shape(2)) + " channels");
                new (self) Image{static_cast<int64_t>(pixels.shape(1)),
                                 static_cast<int64_t>(pixels.shape(0)),
                                 {pixels.data(), pixels.data() + pixels.size()}};
            },
            nb::arg("pixels").noconvert(), "From an array of uint8, (height, width, 3).")
        .def_ro("width", &Image::width)
        .def_ro("height", &Image::height)
        .def_prop_ro(
            "pixels",
            [](const Image &image) {
                return nb::ndarray<nb::numpy, const uint8_t, nb::ndim<3>>(
                    image.pixels.data(), {static_cast<size_t>(image.height), static_cast<size_t>(image.width), 3});
            },
            nb::rv_policy::reference_internal, "(height, width, 3), which shares the image's memory.")
        .def("__repr__", [](const Image &image) {
            return nb::str("<lamina.Image of {} x {} pixels>").format(image.width, image.height);
        });
    nb::class_<ImageOptions>(m, "ImageOptions")
        .def(nb::init<>())
        .def_rw("batch", &ImageOptions::batch)
        .def_rw("sentence", &ImageOptions::sentence)
        .def_rw("progress", &ImageOptions::progress);

    m.def(
        "read_image", [](const std::filesystem::path &file) { return unlocked([&] { return read_image(file); }); },
        nb::arg("file"), "Reads PNG, JPEG and WebP, turned as its EXIF orientation says, and on white.");
    m.def(
        "image_prompt_ids",
        [](Session &session, const std::string &prompt, const std::vector<Image> &images) {
            return unlocked([&] { return image_prompt_ids(session, prompt, images); });
        },
        nb::arg("session"), nb::arg("prompt"), nb::arg("images"));
    m.def(
        "generate_from_ids",
        [](Session &session, const std::vector<int32_t> &ids, const GenerateOptions &options) {
            return unlocked([&] { return generate_from_ids(session, ids, options); });
        },
        nb::arg("session"), nb::arg("ids"), nb::arg("options"));
    m.def(
        "generate_from_images",
        [](Session &session, const std::vector<Image> &images, const GenerateOptions &options) {
            return unlocked([&] { return generate_from_images(session, images, options); });
        },
        nb::arg("session"), nb::arg("images"), nb::arg("options"));
    m.def(
        "embed_images",
        [](Session &session, const std::vector<Image> &images, const ImageOptions &options) {
            return array_of(unlocked([&] { return embed_images(session, images, options); }));
        },
        nb::arg("session"), nb::arg("images"), nb::arg("options"));
    m.def(
        "classify_images",
        [](Session &session, const std::vector<Image> &images, const ImageOptions &options) {
            return unlocked([&] { return classify_images(session, images, options); });
        },
        nb::arg("session"), nb::arg("images"), nb::arg("options"));
    m.def(
        "match_images",
        [](Session &session, const std::vector<Image> &images, const std::vector<std::string> &labels,
           const ImageOptions &options) {
            return unlocked([&] { return match_images(session, images, labels, options); });
        },
        nb::arg("session"), nb::arg("images"), nb::arg("labels"), nb::arg("options"));
}

} // namespace lamina::python
