// host PLUGINS MODEL FILE.npy: uses the host API of an installed Lamina to run a model with an out-of-tree layer.
#include <lamina/lamina.hpp>
#include <lamina/npy.hpp>

#include <iostream>

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    try {
        const lamina::Runtime runtime({.plugin_folders = {argv[1]}});
        const lamina::Model model = runtime.load(argv[2]);
        lamina::Session session = runtime.session(model, runtime.device("cpu"));
        const lamina::TensorMap y = session.run("main", {{"x", lamina::read_npy(argv[3])}});
        std::cout << session.device().id << ':';
        for (const float v : y.at("y").f32()) std::cout << ' ' << v;
        std::cout << '\n';
    } catch (const lamina::Error &error) {
        std::cerr << error.what() << '\n';
        return static_cast<int>(error.code());
    }
}
