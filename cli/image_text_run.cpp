#include "image_text_run.hpp"

#include "interrupt.hpp"
#include "text_run.hpp"

#include <map>
#include <optional>
#include <utility>

namespace lamina::cli {

int ImageTextRun::files(const std::vector<std::string> &files) {
    if (files.size() == 1 && options_.beams == 1 && !output_.json()) {
        stream(files.front());
        return 0;
    }
    int status = 0;
    answer(
        files, [](size_t, const Error &why) { throw Error(why); },
        [&](size_t file, const Error &why) {
            print_error(files[file] + ": " + why.what());
            show_error(files[file], why.what());
            status = static_cast<int>(why.code());
        });
    if (output_.json()) output_.print_json(json_);
    return status;
}

int ImageTextRun::lines(LineReader lines) {
    for (auto files = lines.next(options_.batch); !files.empty(); files = lines.next(options_.batch)) {
        const Unanswered refuse = [&](size_t file, const Error &why) {
            lines.refuse(file, why.what(), why.code());
            show_error(files[file], why.what());
        };
        answer(files, refuse, refuse);
    }
    if (output_.json()) output_.print_json(json_);
    return lines.status(output_);
}

void ImageTextRun::stream(const std::string &file) {
    const Image image = read_image(file);
    Pace pace;
    std::string before = file + "\t"; // printed with the first token, as of texts
    options_.stream = [&](size_t, std::string_view piece) {
        pace.token();
        output_.print(std::exchange(before, "") + std::string(piece));
        stop_if_interrupted();
    };
    const std::vector<Hypothesis> found = generate_from_images(session_, {image}, options_).front();
    output_.print(before + "\n");
    output_.note(pace.summary(found.front().tokens.size()));
}

// Reads as many files at a time as fill a batch, to limit memory. Those before one that cannot be read are shown first.
void ImageTextRun::answer(const std::vector<std::string> &files, const Unanswered &unreadable,
                          const Unanswered &unanswered) {
    for (size_t first = 0; first < files.size();) {
        std::vector<Image> images;
        std::optional<Error> why;
        while (images.size() < options_.batch && first + images.size() < files.size() && !why) try {
                images.push_back(read_image(files[first + images.size()]));
            } catch (const Error &e) {
                if (e.code() != ErrorCode::input) throw; // no memory: that is not the file's fault
                why = e;
            }
        std::map<size_t, Error> failed;
        options_.failed = [&](size_t image, const Error &error) { failed.emplace(image, error); };
        options_.progress = [&](size_t done, size_t) {
            stop_if_interrupted();
            output_.progress("images", first + done, files.size());
        };
        options_.first = first; // each draws random numbers of its own
        const auto found = generate_from_images(session_, images, options_);
        output_.clear_progress();
        for (size_t i = 0; i < found.size(); ++i)
            if (const auto error = failed.find(i); error != failed.end())
                unanswered(first + i, error->second);
            else if (output_.json())
                json_.push_back(answers_as_json("image", files[first + i], found[i]));
            else
                output_.print(files[first + i] + "\t" + found[i].front().text + "\n");
        first += images.size();
        if (why) unreadable(first++, *why);
    }
}

void ImageTextRun::show_error(const std::string &file, const std::string &why) {
    if (output_.json()) json_.push_back({{"image", file}, {"error", why}});
}

} // namespace lamina::cli
