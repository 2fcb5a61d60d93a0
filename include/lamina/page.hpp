// Pages, for models such as LayoutLMv3: their words, where these stand, and what the page looks like.
//
//     const lamina::Page page{lamina::read_page_words("invoice.tsv"), lamina::read_image("invoice.png")};
//     const auto labelled = lamina::label_words(session, {page});
//     for (const lamina::WordLabels &each : labelled.front())
//         std::cout << page.words[each.word].text << ' ' << each.labels.front().label << '\n';
#pragma once

#include <lamina/image.hpp>
#include <lamina/texts.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lamina {

struct PageWord {
    std::string text;
    std::array<int32_t, 4> box{}; // left, top, right and bottom, in thousandths of the page: from 0 to 1000
};

struct Page {
    std::vector<PageWord> words; // in the order in which they are read
    Image image = {};            // not needed by models that do not see it: PageReading::sees of inspect.hpp
};

// The words of a page as Tesseract writes them: tesseract page.png page tsv. Throws Error(input), with the line, for a
// file that is something else or that has several pages.
[[nodiscard]] std::vector<PageWord> read_page_words(const std::filesystem::path &file);

struct PageOptions {
    size_t batch = 8;      // how many pages are processed together
    bool truncate = false; // classify_pages(): true: a page with too many words is cut; false: it is an error
    size_t best = 1;       // answer_pages(): how many answers to a question; there may be fewer
    size_t longest = 15;   // answer_pages(): tokens of an answer
    std::function<void(size_t done, size_t all)> progress{}; // after every batch
};

struct WordLabels {
    size_t word = 0;                // its index in Page::words
    std::vector<LabelScore> labels; // best first
};

struct PageQuestion {
    size_t page = 0; // its index
    std::string text;
};

// Words that answer a question.
struct PageAnswer {
    std::string text;           // the words, with spaces between
    size_t first = 0, last = 0; // their indices in Page::words
    double score = 0;           // how likely it is
};

// These functions return one result per page, or per question, in the same order. They throw Error(usage) for a model
// that gives something else, and Error(input) for a page without words, for a box that is not on it, and for an image
// whose pixels are not as many as its size says.

// Scores of all labels, best first.
[[nodiscard]] std::vector<std::vector<LabelScore>> classify_pages(Session &session, const std::vector<Page> &pages,
                                                                  const PageOptions &options = {});
// The same for each word that has tokens; those of its first token. A page with too many words is read in parts, which
// overlap.
[[nodiscard]] std::vector<std::vector<WordLabels>> label_words(Session &session, const std::vector<Page> &pages,
                                                               const PageOptions &options = {});
// The likeliest answers, best first. A page with too many words is read in parts, which overlap.
[[nodiscard]] std::vector<std::vector<PageAnswer>> answer_pages(Session &session, const std::vector<Page> &pages,
                                                                const std::vector<PageQuestion> &questions,
                                                                const PageOptions &options = {});

} // namespace lamina
