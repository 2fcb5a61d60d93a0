// The executor of the device `cpu`. Layers without a kernel here run as their references.
#include "kernels.hpp"

#include <lamina/plugin/product.hpp> // LAMINA_ACTIVATIONS

namespace {
using namespace lamina::plugin;

struct CpuFallback {
    static constexpr auto id = "cpu_fallback";
    static constexpr auto summary =
        "layers on the CPU, with SIMD and on all processors; those without a kernel here, by their references";
    static constexpr uint32_t stored = block_dtypes | LAMINA_F16 | LAMINA_BF16; // f32 is passed as aligned words
    // Products of weights in strips (strips.hpp) are also computed with fewer digits.
    template <int XDigits>
    static constexpr uint32_t arithmetic = XDigits == 3   ? LAMINA_F32
                                           : XDigits == 2 ? LAMINA_F16
                                                          : LAMINA_Q8_0;
    template <int XDigits>
    static constexpr auto linear = cpu_kernel<cpu_fallback::linear<XDigits>>(
        "linear", "x: ... K, residual?: ... N; weight: N K, bias?: N -> y: ... N", XDigits == 3 ? stored : block_dtypes,
        arithmetic<XDigits>);
    template <int XDigits>
    static constexpr auto experts = cpu_kernel<cpu_fallback::experts<XDigits>>(
        "experts",
        "activation=" LAMINA_ACTIVATIONS " alpha limit offset; x: ... C, experts: i32 ... K, shares: ... K, "
        "residual?: ... C; up_weight: E H C, up_bias?: E H, gate_weight?: E H C, gate_bias?: E H, down_weight: E C H, "
        "down_bias?: E C -> y: ... C",
        XDigits == 3 ? stored : block_dtypes, arithmetic<XDigits>);
    template <int XDigits>
    static constexpr auto feed_forward = cpu_kernel<cpu_fallback::feed_forward<XDigits>>(
        "feed_forward",
        "activation=" LAMINA_ACTIVATIONS "; x: ... C, residual?: ... C; up_weight: H C, up_bias?: H, "
        "gate_weight?: H C, gate_bias?: H, down_weight: C H, down_bias?: C -> y: ... C",
        XDigits == 3 ? stored : block_dtypes, arithmetic<XDigits>);
    template <int XDigits>
    static constexpr auto grouped_linear = cpu_kernel<cpu_fallback::grouped_linear<XDigits>>(
        "grouped_linear", "groups; x: ... groups*K; weight: groups N K -> y: ... groups*N",
        XDigits == 3 ? stored : block_dtypes, arithmetic<XDigits>);
    static constexpr std::array kernels{
        cpu_kernel<cpu_fallback::activation>("activation",
                                             "activation=" LAMINA_ACTIVATIONS
                                             "|none|log1p_relu|clamp scale factor low high; x: ..., times?: ... "
                                             "-> y: ..."),
        cpu_kernel<cpu_fallback::append>("append", "x: B T C, other: B N C -> y: B T+N C"),
        cpu_kernel<cpu_fallback::attention>(
            "attention",
            "heads kv_heads=heads scale causal window two_sided softcap batch_first; q: sequence B Tq heads*D, k: "
            "sequence B Tk kv_heads*D, v=k: sequence B Tk kv_heads*D, key_lengths?: i32 B, ahead?: i32 B Tq, "
            "first_keys?: i32 B, query_lengths?: i32 B, key_mask?: i32 B Tk, keep_mask?: i32 B Tq Tk, score_bias?: B "
            "heads Tq Tk, distance_bias?: heads 2*R+1, "
            "position?: i32 B; slopes?: heads, sinks?: heads -> y: sequence B Tq heads*D; key_cache=position: B M "
            "kv_heads*D, value_cache=position v: B M kv_heads*D"),
        cpu_kernel<cpu_fallback::causal_conv1d>(
            "causal_conv1d", "activation=none|" LAMINA_ACTIVATIONS "; x: B T C, position?: i32 B, lengths?: i32 B; "
                             "weight: C K, bias?: C -> y: B T C; before=position: B K-1 C"),
        cpu_kernel<cpu_fallback::conv1d>(
            "conv1d", "stride padding end_padding=padding activation=none|" LAMINA_ACTIVATIONS "; "
                      "x: B stride*S+K-stride-padding-end_padding Cin; weight: Cout Cin K, bias?: Cout -> y: B S Cout"),
        cpu_kernel<cpu_fallback::cut>("cut", "count; x: B T+count C -> first: B T C, last: B count C"),
        cpu_kernel<cpu_fallback::disentangled_attention>(
            "disentangled_attention", "heads scale max_distance; q: B T heads*D, k: B T heads*D, v: B T heads*D, "
                                      "key_lengths?: i32 B; pos_key?: 2*S heads*D, pos_query?: 2*S heads*D -> "
                                      "y: B T heads*D"),
        cpu_kernel<cpu_fallback::embedding>(
            "embedding", "scale; ids: i32 ..., residual?: ... C; table: V C -> y: ... C", weight_dtypes),
        experts<3>,
        experts<2>,
        experts<1>,
        feed_forward<3>,
        feed_forward<2>,
        feed_forward<1>,
        cpu_kernel<cpu_fallback::gated_delta_rule>(
            "gated_delta_rule", "heads key_heads=heads key_dim tiled eps; x: B T 2*key_heads*key_dim+heads*E, "
                                "fading: B T heads, writing: B T heads, position?: i32 B, lengths?: i32 B; "
                                "log_rate: heads, offset: heads -> y: B T heads*E; memory=position: B heads key_dim E"),
        cpu_kernel<cpu_fallback::gather>("gather", "x: B T C, rows: i32 W S -> y: W S C"),
        cpu_kernel<cpu_fallback::grouped_conv1d>(
            "grouped_conv1d",
            "groups stride padding end_padding=padding activation=none|" LAMINA_ACTIVATIONS "; "
            "x: B stride*S+K-stride-padding-end_padding groups*I, lengths?: i32 B, residual?: B S groups*O; "
            "weight: groups*O I K, bias?: groups*O -> y: B S groups*O"),
        grouped_linear<3>,
        grouped_linear<2>,
        grouped_linear<1>,
        cpu_kernel<cpu_fallback::instance_norm>("instance_norm",
                                                "group_size eps activation=none|" LAMINA_ACTIVATIONS
                                                "; x: B T G*group_size, lengths?: i32 B; weight?: G*group_size, "
                                                "bias?: G*group_size -> y: B T G*group_size"),
        cpu_kernel<cpu_fallback::layer_norm>("layer_norm",
                                             "eps; x: ... C, residual?: ... C; weight?: C, bias?: C -> y: ... C"),
        cpu_kernel<cpu_fallback::layout_bias>(
            "layout_bias", "heads image_rows scale max_distance max_box_distance; boxes: i32 B T 4, lengths: i32 B; "
                           "table?: heads buckets, x_table?: heads box_buckets, y_table?: heads box_buckets -> "
                           "y: B heads T+image_rows T+image_rows, key_mask: i32 B T+image_rows"),
        cpu_kernel<cpu_fallback::layout_embedding>(
            "layout_embedding", "x: B T 4*P+2*S, boxes: i32 B T 4; x_table: M P, y_table: M P, height_table: M S, "
                                "width_table: M S -> y: B T 4*P+2*S"),
        linear<3>,
        linear<2>,
        linear<1>,
        cpu_kernel<cpu_fallback::log_mel>("log_mel", "mels n_fft hop sample_rate; samples: B hop*T -> y: B T mels"),
        cpu_kernel<cpu_fallback::log_softmax>("log_softmax", "x: ... C -> y: ... C"),
        cpu_kernel<cpu_fallback::positional_encoding>(
            "positional_encoding",
            "layout=interleaved|halves max_len batch_first; x: sequence B T C, offset?: i32 B; "
            "table?: max_len C -> y: sequence B T C",
            weight_dtypes),
        cpu_kernel<cpu_fallback::rms_norm>(
            "rms_norm", "eps groups weight_groups weight_offset; x: ... groups*C, residual?: ... groups*C; "
                        "weight?: weight_groups*C -> y: ... groups*C"),
        cpu_kernel<cpu_fallback::rotary>(
            "rotary", "heads layout=interleaved|halves magnitude max_len angles batch_first; x: sequence B T "
                      "heads*D, position?: i32 B, coordinates?: sequence i32 B T A; frequencies: P -> "
                      "y: sequence B T heads*D"),
        cpu_kernel<cpu_fallback::selective_scan>(
            "selective_scan",
            "heads groups state_dim rates min_step max_step; x: B T heads*E+2*groups*state_dim, step: B T heads, "
            "position?: i32 B, lengths?: i32 B; log_rate: heads*rates, offset: heads, skip?: heads -> y: B T heads*E; "
            "state=position: B heads state_dim E"),
        cpu_kernel<cpu_fallback::softmax>("softmax", "x: ... C -> y: ... C"),
        cpu_kernel<cpu_fallback::top_k>("top_k",
                                        "k; x: ... V, bias?: V -> values: ... k, indices: i32 ... k, sum: ... 1"),
        cpu_kernel<cpu_fallback::wkv7>(
            "wkv7",
            "heads eps key_eps; query: B T heads*D, fading: B T heads*D, key: B T heads*D, value: B T heads*E, rate: B "
            "T heads*D, gate: B T heads*E, first_value?: B T heads*E, first_share?: B T heads*E, position?: i32 B, "
            "lengths?: i32 B; old_key: heads*D, key_rate: heads*D, bonus: heads*D, weight: heads*E, bias: heads*E -> "
            "y: B T heads*E; memory=position: B heads D E"),
    };
};

} // namespace

LAMINA_EXECUTOR(CpuFallback)
