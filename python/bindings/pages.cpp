// Pages, of page.hpp.
#include "call.hpp"
#include "module.hpp"
#include "pickles.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <lamina/page.hpp>

namespace lamina::python {

void add_pages(nb::module_ &m) {
    pickled(
        nb::class_<PageWord>(m, "PageWord", "A word of a page, and where it stands.")
            .def(nb::init<std::string, std::array<int32_t, 4>>(), nb::arg("text"), nb::arg("box"))
            .def_ro("text", &PageWord::text)
            .def_ro("box", &PageWord::box, "Left, top, right and bottom, in thousandths of the page: from 0 to 1000.")
            .def("__repr__", [](const PageWord &w) { return nb::str("({!r}, {})").format(w.text, w.box); }),
        &PageWord::text, &PageWord::box);
    nb::class_<Page>(m, "Page")
        .def(nb::init<std::vector<PageWord>, Image>(), nb::arg("words"), nb::arg("image"))
        .def(nb::init<std::vector<PageWord>>(), nb::arg("words"));
    nb::class_<PageOptions>(m, "PageOptions")
        .def(nb::init<>())
        .def_rw("batch", &PageOptions::batch)
        .def_rw("truncate", &PageOptions::truncate)
        .def_rw("best", &PageOptions::best)
        .def_rw("longest", &PageOptions::longest)
        .def_rw("progress", &PageOptions::progress);
    pickled(
        nb::class_<WordLabels>(m, "WordLabels", "A word of a page, and its classes.")
            .def_ro("word", &WordLabels::word, "Its index among the words of the page.")
            .def_ro("labels", &WordLabels::labels, "Best first.")
            .def("__repr__", [](const WordLabels &w) { return nb::str("<{}: {}>").format(w.word, w.labels.front()); }),
        &WordLabels::word, &WordLabels::labels);
    pickled(nb::class_<PageAnswer>(m, "PageAnswer", "Words of a page that answer a question.")
                .def_ro("text", &PageAnswer::text, "The words, with spaces between.")
                .def_ro("first", &PageAnswer::first, "The index of the first among the words of the page.")
                .def_ro("last", &PageAnswer::last, "That of the last.")
                .def_ro("score", &PageAnswer::score, "How likely it is.")
                .def("__repr__", [](const PageAnswer &a) { return nb::str("({!r}, {:.6g})").format(a.text, a.score); }),
            &PageAnswer::text, &PageAnswer::first, &PageAnswer::last, &PageAnswer::score);

    m.def(
        "read_page_words",
        [](const std::filesystem::path &file) { return unlocked([&] { return read_page_words(file); }); },
        nb::arg("file"), "The words of a page as Tesseract writes them: tesseract page.png page tsv.");
    m.def(
        "classify_pages",
        [](Session &session, const std::vector<Page> &pages, const PageOptions &options) {
            return unlocked([&] { return classify_pages(session, pages, options); });
        },
        nb::arg("session"), nb::arg("pages"), nb::arg("options"));
    m.def(
        "label_words",
        [](Session &session, const std::vector<Page> &pages, const PageOptions &options) {
            return unlocked([&] { return label_words(session, pages, options); });
        },
        nb::arg("session"), nb::arg("pages"), nb::arg("options"));
    m.def(
        "answer_page",
        [](Session &session, const Page &page, const std::vector<std::string> &questions, const PageOptions &options) {
            std::vector<PageQuestion> asked;
            for (const std::string &question : questions) asked.push_back({0, question});
            return unlocked([&] { return answer_pages(session, {page}, asked, options); });
        },
        nb::arg("session"), nb::arg("page"), nb::arg("questions"), nb::arg("options"));
}

} // namespace lamina::python
