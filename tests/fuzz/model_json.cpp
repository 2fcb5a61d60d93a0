// model.json, with the language of shapes, next to the weights of g2p
#include "fuzz.hpp"
#include "places.hpp"
#include "plugin_runtime.hpp"
#include "temporary_folder.hpp"

void test::read(std::string_view input) {
    static const TemporaryFolder folder;
    static const bool prepared = [] {
        for (const auto &entry : std::filesystem::directory_iterator(LAMINA_SOURCE_DIR "/models/g2p"))
            if (entry.path().filename() != "model.json")
                create_symlink(entry.path(), folder.path() / entry.path().filename());
        return true;
    }();
    (void)prepared;
    folder.write("model.json", input);
    (void)runtime().load(folder.path());
}
