// The arguments of a plugin's functions, with parameters and tensors by name, and the exceptions to throw.
#pragma once

#include <lamina/plugin/arranged.h>
#include <lamina/plugin/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::plugin {

struct Invalid : std::runtime_error { // the caller's parameters or shapes are wrong: LAMINA_INVALID
    using std::runtime_error::runtime_error;
};
struct Unsupported : std::runtime_error { // this variant does not handle the call: LAMINA_UNSUPPORTED
    using std::runtime_error::runtime_error;
};

class Tensor {
  public:
    explicit Tensor(const lamina_tensor &t) : t_(&t) {}

    explicit operator bool() const { return t_->rank != 0; } // false: an optional port that was left out
    [[nodiscard]] bool stands_in() const { return (t_->flags & LAMINA_STANDS_IN) != 0; } // see lamina_port.follows
    [[nodiscard]] uint32_t dtype() const { return t_->dtype; }
    [[nodiscard]] bool in_blocks() const { return storage_type(t_->dtype).in_blocks(); }
    [[nodiscard]] int rank() const { return static_cast<int>(t_->rank); }
    [[nodiscard]] int64_t dim(int axis) const { return t_->dim[axis < 0 ? axis + rank() : axis]; } // -1: the last
    [[nodiscard]] int64_t size() const {
        int64_t n = 1;
        for (int i = 0; i < rank(); ++i) n *= dim(i);
        return n;
    }
    [[nodiscard]] int64_t cols() const { return dim(-1); }
    [[nodiscard]] int64_t rows() const { // the product of all axes but the last
        int64_t n = 1;
        for (int i = 0; i + 1 < rank(); ++i) n *= dim(i);
        return n;
    }
    [[nodiscard]] int64_t row_bytes() const { return storage_type(t_->dtype).row_bytes(cols()); } // as it is stored
    [[nodiscard]] std::span<float> f32() const { return {static_cast<float *>(t_->data), data_size()}; }
    [[nodiscard]] std::span<uint16_t> f16() const { return {static_cast<uint16_t *>(t_->data), data_size()}; } // bits
    [[nodiscard]] std::span<int32_t> i32() const { return {static_cast<int32_t *>(t_->data), data_size()}; }
    // The first byte of a row as it is stored, without alignment.
    [[nodiscard]] const std::byte *stored_row(int64_t r) const {
        return static_cast<const std::byte *>(t_->data) + r * row_bytes();
    }
    [[nodiscard]] std::byte *row_to_write(int64_t r) const {
        return static_cast<std::byte *>(t_->data) + r * row_bytes();
    }
    [[nodiscard]] std::span<float> row(int64_t r) const {
        return f32().subspan(static_cast<size_t>(r * cols()), static_cast<size_t>(cols()));
    }

  private:
    [[nodiscard]] size_t data_size() const { return t_->data != nullptr && *this ? static_cast<size_t>(size()) : 0; }
    const lamina_tensor *t_;
};

// The rows of a port declared with sequence(): row(b, t) in either layout.
struct Sequence {
    int64_t batch, length, channels, batch_stride, time_stride; // strides in rows
    Sequence(const Tensor &t, bool batch_major)
        : batch(t.dim(batch_major ? 0 : 1)), length(t.dim(batch_major ? 1 : 0)), channels(t.rank() > 2 ? t.dim(2) : 1),
          batch_stride(batch_major ? length : 1), time_stride(batch_major ? 1 : batch) {}
    [[nodiscard]] int64_t row(int64_t b, int64_t t) const { return b * batch_stride + t * time_stride; }
    [[nodiscard]] int64_t batch_of(int64_t row) const { return row / batch_stride % batch; }
    [[nodiscard]] int64_t time_of(int64_t row) const { return row / time_stride % length; }
};

// Element i of an array whose elements may have more fields than this header knows. `size`: of one element.
template <class T> const T &element(const T *first, uint32_t i, uint32_t size) {
    return *reinterpret_cast<const T *>(reinterpret_cast<const char *>(first) + size_t{i} * size);
}

// A layer's parameters and tensors, by their names in its contract.
class Call {
  public:
    explicit Call(const lamina_call &call, const lamina_host *host = nullptr)
        : layer_(call.layer), call_(&call), host_(host) {}

    [[nodiscard]] double real(std::string_view name) const {
        return call_->params[find(layer_->params, layer_->n_params, layer_->param_size, name)];
    }
    [[nodiscard]] int64_t integer(std::string_view name) const { return static_cast<int64_t>(real(name)); }
    [[nodiscard]] bool flag(std::string_view name) const { return real(name) != 0; }

    [[nodiscard]] Tensor in(std::string_view name) const {
        return at(call_->in, layer_->inputs, layer_->n_inputs, name);
    }
    [[nodiscard]] Tensor weight(std::string_view name) const {
        return at(call_->weight, layer_->weights, layer_->n_weights, name);
    }
    [[nodiscard]] Tensor out(std::string_view name) const {
        return at(call_->out, layer_->outputs, layer_->n_outputs, name);
    }
    [[nodiscard]] Tensor state(std::string_view name) const {
        return at(call_->state, layer_->states, layer_->n_states, name);
    }

    // The rows of an output declared with by_rows() that the reference has to compute: all, or a sample.
    [[nodiscard]] std::vector<int64_t> wanted(const Tensor &output) const {
        std::vector<int64_t> rows;
        const bool sampled = call_->struct_size > offsetof(lamina_call, n_rows) && call_->rows != nullptr;
        if (!sampled) {
            rows.resize(static_cast<size_t>(output.rows()));
            std::iota(rows.begin(), rows.end(), int64_t{0});
            return rows;
        }
        for (uint64_t i = 0; i < call_->n_rows && call_->rows[i] < output.rows(); ++i) rows.push_back(call_->rows[i]);
        return rows;
    }

    // Of a CPU kernel: `bytes` bytes that the session keeps for a weight, written by fill(std::byte *) when they are
    // new. Null: read the weight as it is stored. See <lamina/plugin/arranged.h>.
    template <class Fill>
    [[nodiscard]] const std::byte *arranged(std::string_view weight, int64_t bytes, const Fill &fill) const {
        const void *extension = host_ == nullptr ? nullptr : host_->extension(host_, LAMINA_ARRANGED);
        if (extension == nullptr) return nullptr;
        const auto call_fill = [](void *context, void *memory) noexcept -> lamina_status {
            try {
                (*static_cast<const Fill *>(context))(static_cast<std::byte *>(memory));
                return LAMINA_OK;
            } catch (...) {
                return LAMINA_INTERNAL;
            }
        };
        return static_cast<const std::byte *>(static_cast<const lamina_arranged *>(extension)->weight(
            host_, find(layer_->weights, layer_->n_weights, layer_->port_size, weight), static_cast<uint64_t>(bytes),
            call_fill, const_cast<Fill *>(&fill)));
    }

    [[nodiscard]] const lamina_device &device() const { return *call_->device; }
    [[nodiscard]] const lamina_layer &layer() const { return *layer_; }

    // The index of `name` in a list of the contract. Throws std::logic_error if it is not there.
    template <class Named> static uint32_t find(const Named *list, uint32_t n, uint32_t size, std::string_view name) {
        for (uint32_t i = 0; i < n; ++i)
            if (name == element(list, i, size).name) return i;
        throw std::logic_error("the contract has no '" + std::string(name) + "'");
    }

  private:
    [[nodiscard]] Tensor at(const lamina_tensor *tensors, const lamina_port *ports, uint32_t n,
                            std::string_view name) const {
        return Tensor(element(tensors, find(ports, n, layer_->port_size, name), call_->tensor_size));
    }
    const lamina_layer *layer_;
    const lamina_call *call_;
    const lamina_host *host_;
};

} // namespace lamina::plugin
