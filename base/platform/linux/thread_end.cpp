#include "base/thread_end.hpp"

#include <vector>

namespace lamina {
namespace {

struct End {
    void (*destroy)(void *);
    void *object;
};

class Ends {
  public:
    Ends() = default;
    Ends(const Ends &) = delete;
    Ends &operator=(const Ends &) = delete;
    ~Ends() {
        for (auto end = all.rbegin(); end != all.rend(); ++end) end->destroy(end->object);
    }
    std::vector<End> all;
};

} // namespace

void at_thread_end(void (*destroy)(void *object), void *object) {
    thread_local Ends ends;
    ends.all.push_back({destroy, object});
}

bool threads_have_ended() { return false; }

} // namespace lamina
