// The parts of the module. Each adds the classes and functions of the file of its name.
#pragma once

#include <nanobind/nanobind.h>

namespace lamina::python {

namespace nb = nanobind;

void add_runtime(nb::module_ &m);
void add_generation(nb::module_ &m);
void add_reading(nb::module_ &m);
void add_audio(nb::module_ &m);
void add_images(nb::module_ &m);
void add_pages(nb::module_ &m);
void add_proof(nb::module_ &m);

} // namespace lamina::python
