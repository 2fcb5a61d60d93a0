#include "model/torch_tensors.hpp"

#include "base/utf8.hpp"

#include <lamina/plugin/dtype.hpp>

#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace lamina::model {
namespace {

constexpr std::string_view rebuild_tensor = "torch._utils._rebuild_tensor",
                           rebuild_tensor_2 = "torch._utils._rebuild_tensor_v2",
                           rebuild_parameter = "torch._utils._rebuild_parameter";

struct StorageClass {
    std::string_view name, dtype; // dtype: as safetensors calls it
    int64_t bytes;                // of a value
};
constexpr std::array storage_classes{
    StorageClass{"torch.FloatStorage", "F32", 4},     StorageClass{"torch.HalfStorage", "F16", 2},
    StorageClass{"torch.BFloat16Storage", "BF16", 2}, StorageClass{"torch.DoubleStorage", "F64", 8},
    StorageClass{"torch.LongStorage", "I64", 8},      StorageClass{"torch.IntStorage", "I32", 4},
    StorageClass{"torch.ShortStorage", "I16", 2},     StorageClass{"torch.CharStorage", "I8", 1},
    StorageClass{"torch.ByteStorage", "U8", 1},       StorageClass{"torch.BoolStorage", "BOOL", 1},
};

const StorageClass *storage_class(std::string_view name) {
    for (const StorageClass &each : storage_classes)
        if (each.name == name) return &each;
    return nullptr;
}

// What a layer takes; nothing for other dtypes.
std::optional<DType> dtype_of(std::string_view name) {
    for (const plugin::StorageType &type : plugin::storage_types)
        if (!type.in_blocks() && name == type.safetensors) return DType{type.dtype};
    return std::nullopt;
}

// Where the values of a tensor are within a storage, in values of it.
struct View {
    Shape shape, strides;
    int64_t first = 0, values = 0; // values: of the shape
};

// Whether the values lie in order, without gaps.
bool is_contiguous(const View &view) {
    int64_t stride = 1;
    for (size_t axis = view.shape.size(); axis-- > 0;) {
        if (view.shape[axis] != 1 && view.strides[axis] != stride) return false;
        stride *= view.shape[axis];
    }
    return true;
}

// The values of the view, one after the other.
void gather(const View &view, std::span<const std::byte> storage, size_t value_bytes, std::span<std::byte> out) {
    std::vector<int64_t> index(view.shape.size(), 0);
    int64_t place = view.first;
    for (size_t at = 0; at < out.size(); at += value_bytes) {
        std::memcpy(out.data() + at, storage.data() + static_cast<size_t>(place) * value_bytes, value_bytes);
        for (size_t axis = index.size(); axis-- > 0;) {
            place += view.strides[axis];
            if (++index[axis] < view.shape[axis]) break;
            place -= view.strides[axis] * std::exchange(index[axis], 0);
        }
    }
}

class StateDict {
  public:
    StateDict(const Pickle &pickle, const FindStorage &find, std::shared_ptr<const void> owner, Weights &out)
        : pickle_(pickle), find_(find), owner_(std::move(owner)), out_(out) {}

    void read() {
        for (const auto &[key, value] :
             pickle_.as<Pickle::Dict>(pickle_.top(), "a dict of tensors, a state_dict()").items) {
            const std::string name(pickle_.as<std::string_view>(key, "the name of a tensor"));
            if (std::holds_alternative<Pickle::Dict>(pickle_.at(value)))
                pickle_.fail("the entry " + in_quotes(name) +
                             " is a dict; expected a tensor, as in the state_dict() of a model. If that is what the "
                             "entry is, save it alone");
            add(name, value);
        }
    }

  private:
    void add(const std::string &name, Pickle::Ref ref) {
        const Pickle::Call *call = &pickle_.as<Pickle::Call>(ref, "a tensor for " + in_quotes(name));
        if (call->function == rebuild_parameter) {
            if (call->arguments.empty()) pickle_.expected("a parameter for " + in_quotes(name), ref);
            call = &pickle_.as<Pickle::Call>(call->arguments[0], "a tensor for the parameter " + in_quotes(name));
        }
        const auto &of = call->arguments;
        if (call->function == rebuild_parameter || of.size() < 4)
            pickle_.fail("the tensor " + in_quotes(name) +
                         " has no storage, place, shape and strides: the file is damaged");
        const TorchStorage storage = torch_storage(pickle_, of[0]);
        const View view = view_of(name, storage, of);
        const auto size = static_cast<size_t>(storage.value_bytes);
        const auto bytes = find_(storage.key, static_cast<uint64_t>(storage.values) * size);
        const bool contiguous = is_contiguous(view);
        const auto part = contiguous && view.values != 0 ? bytes.subspan(static_cast<size_t>(view.first) * size,
                                                                         static_cast<size_t>(view.values) * size)
                                                         : bytes.first(0);
        const auto dtype = dtype_of(storage.dtype);
        if (!dtype)
            out_.add_other(name,
                           {contiguous ? std::string(storage.dtype) : std::string(storage.dtype) + " out of order",
                            view.shape, part, owner_});
        else if (contiguous)
            out_.add(name, {{*dtype, view.shape}, part, owner_});
        else
            out_.add(name, Weight::made_of({*dtype, view.shape}, {Weight{{}, bytes, owner_}},
                                           [=](std::span<std::byte> out) { gather(view, bytes, size, out); }));
    }

    [[nodiscard]] View view_of(const std::string &name, const TorchStorage &storage,
                               const std::vector<Pickle::Ref> &of) const {
        const auto what = [&](const char *part) { return std::string(part) + " of the tensor " + in_quotes(name); };
        View view{pickle_.integers(of[2], what("the shape")), pickle_.integers(of[3], what("the strides")),
                  pickle_.as<int64_t>(of[1], what("the place"))};
        const auto refuse = [&](const std::string &why) {
            pickle_.fail(what("the shape") + ", " + printable(to_string(view.shape)) + ", its strides " +
                         printable(to_string(view.strides)) + " and its place " + std::to_string(view.first) + ": " +
                         why + ": the file is damaged");
        };
        if (view.shape.size() != view.strides.size()) refuse("expected as many strides as axes");
        int64_t last = view.first;
        view.values = 1;
        bool overflows = view.first < 0, empty = false;
        for (size_t axis = 0; axis < view.shape.size(); ++axis) {
            const int64_t size = view.shape[axis];
            int64_t reach = 0;
            empty = empty || size == 0;
            overflows = overflows || size < 0 || view.strides[axis] < 0 ||
                        __builtin_mul_overflow(view.values, size, &view.values) ||
                        (size > 0 && __builtin_mul_overflow(size - 1, view.strides[axis], &reach)) ||
                        __builtin_add_overflow(last, reach, &last);
        }
        if (overflows) refuse("expected numbers of at least 0, of less than 64 bits in all");
        if (empty) {
            view.first = 0;
        } else if (last >= storage.values || view.values > storage.values) {
            refuse("expected a part of the storage " + in_quotes(storage.key) + " of " +
                   std::to_string(storage.values) + " values");
        }
        return view;
    }

    const Pickle &pickle_;
    const FindStorage &find_;
    std::shared_ptr<const void> owner_;
    Weights &out_;
};

} // namespace

bool is_of_torch_tensors(std::string_view global) {
    return global == rebuild_tensor || global == rebuild_tensor_2 || global == rebuild_parameter ||
           storage_class(global) != nullptr;
}

TorchStorage torch_storage(const Pickle &pickle, Pickle::Ref id) {
    const auto &parts =
        pickle.as<Pickle::Sequence>(pickle.as<Pickle::Persistent>(id, "a storage").id, "what names a storage").items;
    if (parts.size() < 5) pickle.expected("a class, a key, a place and a size of a storage", id);
    const StorageClass *type = storage_class(pickle.as<Pickle::Global>(parts[1], "the class of a storage").name);
    if (type == nullptr) pickle.expected("the class of a storage", parts[1]);
    TorchStorage out{std::string(pickle.as<std::string_view>(parts[2], "the key of a storage")), type->dtype,
                     pickle.as<int64_t>(parts[4], "the size of a storage"), type->bytes};
    int64_t bytes = 0;
    if (out.values < 0 || __builtin_mul_overflow(out.values, out.value_bytes, &bytes))
        pickle.fail("a storage of " + std::to_string(out.values) + " values: the file is damaged");
    if (parts.size() > 5 && !std::holds_alternative<Pickle::None>(pickle.at(parts[5])))
        pickle.fail("the storage " + in_quotes(out.key) +
                    " is a part of another one, as PyTorch wrote it before version 0.4: save the model again as "
                    "safetensors, with save_pretrained()");
    return out;
}

Weights torch_tensors(const Pickle &pickle, const FindStorage &find, const std::shared_ptr<const void> &owner,
                      Weights empty) {
    StateDict(pickle, find, owner, empty).read();
    return empty;
}

} // namespace lamina::model
