#include "reading/pages.hpp"

#include "base/utf8.hpp"
#include "model/place.hpp"
#include "reading/image_inputs.hpp"
#include "reading/reading.hpp"
#include "reading/spans.hpp"
#include "tokenizer/post_processor.hpp"
#include "tokenizer/unicode.hpp"

#include <algorithm>
#include <set>

namespace lamina::reading {
namespace {

using Gives = model::Reading::Gives;

// A page, or a part of it, as the model reads it.
struct Part {
    size_t page = 0;
    size_t asked = 0; // tokens of the question before its words, the special ones aside
    size_t begin = 0; // how many tokens of its words come before this part
    bool first = true, last = true;
    Encoding encoding = {};
};

[[noreturn]] void refuse(size_t page, const std::string &why) {
    throw Error(ErrorCode::input, "page " + std::to_string(page + 1) + ": " + why);
}

void expect_page(const model::Pages &model, const Page &page, size_t number) {
    if (page.words.empty()) refuse(number, "expected words, found none");
    for (size_t i = 0; i < page.words.size(); ++i) {
        const auto &[text, box] = page.words[i];
        const std::string word = "word " + std::to_string(i + 1) + ": ";
        if (first_invalid_utf8(text) != text.size()) refuse(number, word + in_quotes(text) + " is not valid UTF-8");
        for (const int32_t side : box)
            if (side < 0 || side > 1000)
                refuse(number, word +
                                   "expected a box of left, top, right and bottom from 0 to 1000, thousandths of the "
                                   "page, found " +
                                   std::to_string(side));
    }
    if (!model.image) return;
    if (page.image.pixels.empty()) refuse(number, "expected an image: this model sees pages");
    expect_pixels(page.image, number);
}

std::vector<std::string> texts_of(const std::vector<PageWord> &words) {
    std::vector<std::string> out;
    for (const PageWord &word : words) out.push_back(word.text);
    return out;
}

std::vector<std::string> words_of(const std::string &text) {
    std::vector<std::string> out;
    bool inside = false;
    for (size_t at = 0; at < text.size();) {
        const Character character = character_at(text, at);
        const bool space = tokenizer::is_whitespace(character.code);
        if (!space && !inside) out.emplace_back();
        if (!space) out.back() += text.substr(at, character.length);
        inside = !space;
        at += character.length;
    }
    return out;
}

size_t own_tokens(const Encoding &encoding) { return static_cast<size_t>(std::ranges::count(encoding.special, false)); }

Encoding encoding_of(const model::Reading &model, const Page &page, size_t number) {
    try {
        return model.tokenizer.encode_words(texts_of(page.words));
    } catch (const Error &e) { // the vocabulary cannot express a word
        refuse(number, e.what());
    }
}

// All of a page, in parts if it is too long. Each shares this many tokens of its words with the one before, or half of
// them (transformers, pipelines/document_question_answering.py).
size_t shared_by_parts(size_t longest, size_t room) {
    const size_t usual = std::min<size_t>(longest / 2, 256);
    return usual < room ? usual : room / 2;
}

// `whole`: of `asked` tokens of a question, and those of the page's words behind them.
void add_parts(const model::Reading &model, size_t page, size_t asked, const Encoding &whole, std::vector<Part> &out) {
    const auto longest = static_cast<size_t>(model.longest);
    const size_t words = own_tokens(whole) - asked, taken = whole.size() - words;
    if (words == 0) refuse(page, "its words have no tokens");
    if (taken >= longest)
        refuse(page, "the model takes " + std::to_string(longest) + " tokens at a time, and " + std::to_string(taken) +
                         " of the question, with those around it, leave no room for words");
    size_t first = 0; // token of the words, which stand together
    for (size_t own = 0; whole.special[first] || own++ < asked;) ++first;
    const size_t room = longest - taken, shared = shared_by_parts(longest, room);
    const Encoding before = slice(whole, 0, first), behind = slice(whole, first + words, whole.size());
    for (const size_t begin : window_starts(words, room, shared)) {
        const size_t end = std::min(begin + room, words);
        Part part{.page = page, .asked = asked, .begin = begin, .first = begin == 0, .last = end == words};
        part.encoding = before;
        tokenizer::append(part.encoding, slice(whole, first + begin, first + end));
        tokenizer::append(part.encoding, behind);
        out.push_back(std::move(part));
    }
}

// What the graph takes beside tokens: boxes, and patches of the pages' images, which are given as such.
void add_inputs(const model::Pages &model, const std::vector<Page> &pages, const std::vector<Tensor> &images,
                std::span<const Part *const> parts, const plan::GraphShapes &shapes, TensorMap &inputs) {
    Tensor boxes(shapes.inputs.at(model.boxes));
    const int64_t length = boxes.shape()[1];
    for (size_t b = 0; b < parts.size(); ++b) {
        const auto &[page, asked, begin, first, last, tokens] = *parts[b];
        auto box = boxes.i32().begin() + static_cast<std::ptrdiff_t>(b) * length * 4;
        for (size_t i = 0, own = 0; i < tokens.size(); ++i, box += 4)
            if (!tokens.special[i] && own++ >= asked) // others are nowhere on the page
                std::ranges::copy(pages[page].words[static_cast<size_t>(tokens.words[i])].box, box);
    }
    inputs[model.boxes] = std::move(boxes);
    if (!model.image) return;
    Tensor patches(shapes.inputs.at(model.image->patches));
    for (size_t b = 0; b < parts.size(); ++b) {
        const auto image = images[parts[b]->page].f32();
        std::ranges::copy(image, patches.f32().begin() + static_cast<std::ptrdiff_t>(b * image.size()));
    }
    inputs[model.image->patches] = std::move(patches);
}

std::vector<Tensor> patches_of(const model::Pages &model, const std::vector<Page> &pages) {
    std::vector<Tensor> out;
    for (size_t i = 0; i < pages.size() && model.image; ++i)
        out.push_back(std::move(inputs_of_images(*model.image, {&pages[i].image, 1}, 1).at(model.image->patches)));
    return out;
}

// What the model gives for each part.
std::vector<Found> run(detail::SessionState &session, const model::Pages &model, const std::vector<Page> &pages,
                       const std::vector<Part> &parts, const PageOptions &options) {
    const std::vector<Tensor> images = patches_of(model, pages);
    std::vector<Encoding> encodings;
    for (const Part &part : parts) encodings.push_back(part.encoding);
    const auto more = [&](std::span<const size_t> batch, int64_t rows, int64_t length, TensorMap &inputs) {
        std::vector<const Part *> chosen;
        for (const size_t i : batch) chosen.push_back(&parts[i]);
        add_inputs(model, pages, images, chosen, shapes_of(model, rows, length), inputs);
    };
    return reading::run(session, model.reading, std::move(encodings),
                        {.most = options.batch,
                         .name = [&](size_t i) { return "page " + std::to_string(parts[i].page + 1); },
                         .progress = options.progress,
                         .more = more});
}

// The classes of a word are those that the part gives in which most tokens stand around it.
class Labels {
  public:
    Labels(const model::Reading &model, size_t words) : model_(model), found_(words) {}

    void add(const Part &part, const Found &found) {
        const Encoding &tokens = found.encoding;
        const size_t own = own_tokens(tokens), width = found.values.size() / tokens.size();
        for (size_t i = 0, token = 0; i < tokens.size(); ++i) {
            if (tokens.special[i]) continue;
            const size_t around = std::min(part.first ? SIZE_MAX : token, part.last ? SIZE_MAX : own - 1 - token);
            Best &best = found_[static_cast<size_t>(tokens.words[i])];
            const size_t place = part.begin + token++;
            const bool earlier = place < best.token; // a word's first token has its classes
            if (!earlier && (place != best.token || around <= best.around)) continue;
            const auto row = std::span(found.values).subspan(i * width, width);
            best = {place, around, {row.begin(), row.end()}};
        }
    }

    [[nodiscard]] std::vector<WordLabels> take() const {
        std::vector<WordLabels> out;
        for (size_t i = 0; i < found_.size(); ++i)
            if (!found_[i].values.empty())
                out.push_back({i, labels_of(model_.labels, model_.scores, found_[i].values)});
        return out;
    }

  private:
    struct Best {
        size_t token = SIZE_MAX, around = 0;
        std::vector<float> values = {};
    };
    const model::Reading &model_;
    std::vector<Best> found_; // of each word
};

std::string joined(const Page &page, size_t first, size_t last) {
    std::string out = page.words[first].text;
    for (size_t word = first + 1; word <= last; ++word) out += " " + page.words[word].text;
    return out;
}

// As the pipeline "document-question-answering" of transformers would, if it showed the model the image: among the
// words alone. Each is found once.
void add_answers(const Part &part, const Found &found, const Page &page, const PageOptions &options,
                 std::vector<PageAnswer> &out) {
    const Encoding &tokens = found.encoding;
    std::vector<bool> counts(tokens.size());
    for (size_t i = 0, own = 0; i < tokens.size(); ++i)
        counts[i] = tokens.special[i] ? i == 0 : own++ >= part.asked; // the first stands for no answer
    std::vector<double> begins = probabilities(found.values, 0, counts), ends = probabilities(found.values, 1, counts);
    begins[0] = ends[0] = 0;
    std::set<std::pair<size_t, size_t>> distinct;
    for (const Span &span : best_spans(begins, ends, options.longest, SIZE_MAX)) {
        const auto first = static_cast<size_t>(tokens.words[span.first]),
                   last = static_cast<size_t>(tokens.words[span.last]);
        if (!distinct.emplace(first, last).second) continue;
        const auto same = [&](const PageAnswer &each) { return each.first == first && each.last == last; };
        const auto known = std::ranges::find_if(out, same); // in a part before
        if (known != out.end())
            known->score = std::max(known->score, span.score);
        else
            out.push_back({joined(page, first, last), first, last, span.score});
        if (distinct.size() == options.best) break;
    }
}

} // namespace

const model::Pages &pages_of(const model::Model &model, Gives expected, const char *what) {
    if (!model.pages)
        throw Error(ErrorCode::usage, model.folder.string() + " does not read pages: it " + model::what_it_does(model));
    if (model.pages->reading.gives != expected)
        throw Error(ErrorCode::usage, model.folder.string() + " does not give " + what + " but the output '" +
                                          model.pages->reading.output + "'");
    return *model.pages;
}

std::vector<std::vector<LabelScore>> classify_pages(detail::SessionState &session, const std::vector<Page> &pages,
                                                    const PageOptions &options) {
    const model::Pages &model = pages_of(*session.model, Gives::classes, "classes of pages");
    const auto longest = static_cast<size_t>(model.reading.longest);
    std::vector<Part> parts;
    for (size_t i = 0; i < pages.size(); ++i) {
        expect_page(model, pages[i], i);
        Part part{.page = i, .encoding = encoding_of(model.reading, pages[i], i)};
        if (options.truncate) truncate(part.encoding, longest, own_tokens(part.encoding), model.reading.cut);
        if (const std::string why = why_not(part.encoding, longest, 0); !why.empty()) refuse(i, why);
        parts.push_back(std::move(part));
    }
    std::vector<std::vector<LabelScore>> out;
    for (const Found &found : run(session, model, pages, parts, options))
        out.push_back(labels_of(model.reading.labels, model.reading.scores, found.values));
    return out;
}

std::vector<std::vector<WordLabels>> label_words(detail::SessionState &session, const std::vector<Page> &pages,
                                                 const PageOptions &options) {
    const model::Pages &model = pages_of(*session.model, Gives::token_classes, "classes of words");
    std::vector<Part> parts;
    std::vector<Labels> labels;
    for (size_t i = 0; i < pages.size(); ++i) {
        expect_page(model, pages[i], i);
        add_parts(model.reading, i, 0, encoding_of(model.reading, pages[i], i), parts);
        labels.emplace_back(model.reading, pages[i].words.size());
    }
    const std::vector<Found> found = run(session, model, pages, parts, options);
    for (size_t i = 0; i < parts.size(); ++i) labels[parts[i].page].add(parts[i], found[i]);
    std::vector<std::vector<WordLabels>> out;
    for (const Labels &each : labels) out.push_back(each.take());
    return out;
}

std::vector<std::vector<PageAnswer>> answer_pages(detail::SessionState &session, const std::vector<Page> &pages,
                                                  const std::vector<PageQuestion> &questions,
                                                  const PageOptions &options) {
    const model::Pages &model = pages_of(*session.model, Gives::answers, "answers");
    if (options.best < 1) throw Error(ErrorCode::usage, "best: expected at least 1, found 0");
    if (options.longest < 1) throw Error(ErrorCode::usage, "longest: expected at least 1, found 0");
    for (size_t i = 0; i < pages.size(); ++i) expect_page(model, pages[i], i);
    std::vector<Part> parts;
    std::vector<size_t> question_of; // of each part
    for (size_t q = 0; q < questions.size(); ++q) {
        const auto fail = [&](const std::string &why) {
            throw Error(ErrorCode::input, "question " + std::to_string(q + 1) + ": " + why);
        };
        const auto &[page, text] = questions[q];
        if (page >= pages.size())
            fail("expected a page below " + std::to_string(pages.size()) + ", found " + std::to_string(page));
        if (const size_t bad = first_invalid_utf8(text); bad != text.size())
            fail("invalid UTF-8 at offset " + std::to_string(bad));
        constexpr EncodeOptions bare{.add_special_tokens = false};
        const std::vector<std::string> question = words_of(text), words = texts_of(pages[page].words);
        const Encoding alone = model.reading.tokenizer.encode_words(question, bare);
        if (alone.size() == 0) fail("expected a text that is not empty");
        const Encoding both = model.reading.tokenizer.encode_words(question, words);
        const size_t asked = question_tokens(both, alone, model.reading.tokenizer.encode_words(words, bare));
        add_parts(model.reading, page, asked, both, parts);
        question_of.resize(parts.size(), q);
    }
    const std::vector<Found> found = run(session, model, pages, parts, options);
    std::vector<std::vector<PageAnswer>> out(questions.size());
    for (size_t i = 0; i < parts.size(); ++i)
        add_answers(parts[i], found[i], pages[parts[i].page], options, out[question_of[i]]);
    for (std::vector<PageAnswer> &answers : out) {
        std::ranges::stable_sort(answers, std::ranges::greater{}, &PageAnswer::score);
        if (answers.size() > options.best) answers.resize(options.best);
    }
    return out;
}

TensorMap usual_inputs(const model::Pages &model) {
    const std::vector<PageWord> words{{"Invoice", {80, 60, 310, 95}},
                                      {"No.", {80, 120, 130, 140}},
                                      {"1024", {140, 120, 220, 140}},
                                      {"Total", {80, 700, 160, 722}},
                                      {"12.50", {800, 700, 880, 722}}};
    std::vector<Page> pages{{words}, {{words.begin(), words.begin() + 2}}};
    std::vector<Part> parts;
    for (Page &page : pages) {
        if (model.image) page.image = usual_picture(*model.image);
        parts.push_back({.page = parts.size(), .encoding = encoding_of(model.reading, page, parts.size())});
    }
    std::vector<const Part *> chosen;
    std::vector<const Encoding *> texts;
    size_t longest = 1;
    for (Part &part : parts) {
        Encoding &text = part.encoding;
        truncate(text, static_cast<size_t>(model.reading.longest), own_tokens(text), model.reading.cut);
        chosen.push_back(&part), texts.push_back(&text);
        longest = std::max(longest, text.size());
    }
    const auto rows = static_cast<int64_t>(parts.size()), length = static_cast<int64_t>(longest);
    TensorMap out = inputs_of(model.reading, texts, rows, length, 0);
    add_inputs(model, pages, patches_of(model, pages), chosen, shapes_of(model, rows, length), out);
    return out;
}

plan::GraphShapes shapes_of(const model::Pages &model, int64_t batch, int64_t length) {
    plan::GraphShapes out = shapes_of(model.reading, batch, length);
    out.inputs[model.boxes] = {DType::i32, {batch, length, 4}};
    if (model.image)
        out.inputs[model.image->patches] = {DType::f32,
                                            {batch, model.image->patch_count(), model.image->patch_values()}};
    return out;
}

} // namespace lamina::reading
