// lamina._lamina: the host API for Python. The package lamina, next door, makes of it what people call.
#include "module.hpp"

#include "call.hpp"

#include <string>
#include <string_view>

namespace lamina::python {
namespace {

// lamina::Error becomes the exception that lamina/_errors.py has for its code, with the same message.
void raise(const std::exception_ptr &thrown, void * /*payload*/) {
    try {
        std::rethrow_exception(thrown);
    } catch (const Error &e) {
        std::string what = e.what(); // a path in it need not be UTF-8
        constexpr std::string_view option = "(--truncate)";
        if (const size_t at = what.find(option); at != std::string::npos)
            what.replace(at, option.size(), "(truncate=True)");
        const nb::object message =
            nb::steal(PyUnicode_DecodeUTF8(what.data(), static_cast<Py_ssize_t>(what.size()), "backslashreplace"));
        const nb::object types = nb::module_::import_("lamina._errors").attr("BY_CODE");
        PyErr_SetObject(nb::object(types[nb::int_(static_cast<int>(e.code()))]).ptr(), message.ptr());
    }
}

} // namespace
} // namespace lamina::python

NB_MODULE(_lamina, m) {
    using namespace lamina::python;
    nb::register_exception_translator(raise);
    m.attr("version") = LAMINA_VERSION;
    add_runtime(m);
    add_generation(m);
    add_reading(m);
    add_audio(m);
    add_images(m);
    add_pages(m);
    add_proof(m);
}
