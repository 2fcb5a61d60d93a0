"""The same as make_seeing.py for models that see images of any size: Qwen2-VL, Qwen2.5-VL,
Qwen3-VL and Qwen3.5.

    python3 -m venv venv && venv/bin/pip install torch torchvision transformers safetensors
    venv/bin/python tests/architectures/make_any_size.py qwen2_5_vl_sees
"""

import torch
import transformers as T
from transformers.vision_utils import get_vision_position_ids, get_vision_window_index

from tiny import here, ids, llama_like, rope, save

IMAGE = 50  # the token that an image's tokens have
PATCH, MERGE = 4, 2


def windows_of(grid, side):
    """Of the patches of an image, as Lamina's graph takes them. `side`: of a window, in pixels."""
    index, ends = get_vision_window_index(grid, MERGE, side, PATCH)
    squares = MERGE * MERGE
    order = (index[:, None] * squares + torch.arange(squares)).flatten()  # of patches, window by window
    lengths = ends[1:] - ends[:-1]
    most = (side // PATCH // MERGE * MERGE) ** 2
    rows, places = torch.zeros(len(lengths), most, dtype=torch.int64), torch.zeros(len(order), dtype=torch.int64)
    for window, (end, length) in enumerate(zip(ends[1:].tolist(), lengths.tolist())):
        rows[window, :length] = order[end - length:end]
        places[order[end - length:end]] = window * most + torch.arange(length)
    return {"window_rows": rows, "window_lengths": lengths, "window_places": places[None]}


def seeing(name, model, sizes, **processor):
    """A prompt of two images of these sizes, in patches; the first one also alone."""
    config, sees = model.config, model.config.vision_config
    grids = torch.tensor([[1, *size] for size in sizes])
    patches = [torch.randn(h * w, 3, PATCH * PATCH, dtype=torch.float32).to(torch.float64) for h, w in sizes]
    pixels = torch.cat(patches)[:, :, None].expand(-1, -1, sees.temporal_patch_size, -1).flatten(1)
    counts = [h * w // MERGE ** 2 for h, w in sizes]
    tokens = ids(1, sum(counts) + 9) % IMAGE
    for first, count in zip([2, 2 + counts[0] + 3], counts):
        tokens[0, first:first + count] = IMAGE
    mask = (tokens == IMAGE).to(torch.int32)
    coordinates = model.model.get_rope_index(tokens, mask, grids)[0].permute(1, 2, 0)
    first = {"patches": patches[0].flatten(1)[None], "lengths": torch.tensor([len(patches[0])]),
             "coordinates": get_vision_position_ids(grids[:1], MERGE)[None]}
    if "window_size" in sees.to_dict():
        first |= windows_of(grids[:1], sees.window_size)
    if "num_position_embeddings" in sees.to_dict():
        first["sizes"] = grids[:1, 1:]

    class Graphs(dict):
        """What needs the model's numbers is computed when it is asked for."""

        def items(self):
            return [("encode_image", (first, lambda m: {"tokens": self.seen(m)[0][None]})),
                    ("decode", (self.inputs, self.run))]

        inputs = {"ids": tokens, "position": torch.zeros(1, dtype=torch.int32), "image_mask": mask,
                  "coordinates": coordinates}
        if "linear_num_key_heads" in config.text_config.to_dict():  # layers with a memory
            inputs["target_lengths"] = torch.tensor([tokens.shape[1]])

        def seen(self, m):
            """Of each image, what its tokens are in the decoder, and beside it what is added after the first layers."""
            out = m.model.get_image_features(pixels, grids, return_dict=True)
            details = out.get("deepstack_features", [])[:config.text_config.num_hidden_layers]
            return [torch.cat(parts, -1) for parts in zip(out.pooler_output, *details)]

        def run(self, m):
            seen = torch.cat(self.seen(m))
            self.inputs["image_rows"] = torch.zeros(*tokens.shape, seen.shape[-1], dtype=torch.float64)
            self.inputs["image_rows"][mask.bool()] = seen
            return {"logits": m(input_ids=tokens, pixel_values=pixels, image_grid_thw=grids, mm_token_type_ids=mask).logits}

    if save(name, model, Graphs()):
        T.Qwen2VLImageProcessor(patch_size=PATCH, merge_size=MERGE, **processor).save_pretrained(here / name)


def text(kind, **more):
    out = llama_like(hidden_size=48, rope_parameters=rope("default", mrope_section=[1, 1, 2]))
    later = kind not in (T.Qwen2VLConfig, T.Qwen2_5_VLConfig)
    return out | ({} if later else dict(use_sliding_window=False, max_window_layers=1)) | more


def whole(kind, vision, **more):
    config = kind(text_config=text(kind, **more), vision_config=vision | dict(patch_size=PATCH), image_token_id=IMAGE)
    for part in (config, config.text_config, config.vision_config):
        part._attn_implementation = part._experts_implementation = "eager"
    return config


if __name__ == "__main__":
    torch.manual_seed(10)
    windowed = dict(depth=3, hidden_size=24, num_heads=2, intermediate_size=20, out_hidden_size=48)
    seeing("qwen2_5_vl_sees", T.Qwen2_5_VLForConditionalGeneration(whole(
        T.Qwen2_5_VLConfig, windowed | dict(window_size=17, fullatt_block_indexes=[1]))), [(6, 10), (4, 2)],
        size={"shortest_edge": 16 * 16, "longest_edge": 40 * 40})
    seeing("qwen2_5_vl_sees_all", T.Qwen2_5_VLForConditionalGeneration(whole(
        T.Qwen2_5_VLConfig, windowed | dict(window_size=40, fullatt_block_indexes=[7], hidden_act="gelu"),
        use_sliding_window=True, sliding_window=9)), [(2, 12), (6, 6)], min_pixels=20 * 20, max_pixels=33 * 33)
    seeing("qwen2_vl_sees", T.Qwen2VLForConditionalGeneration(whole(
        T.Qwen2VLConfig, dict(depth=2, embed_dim=24, num_heads=3, mlp_ratio=2, hidden_size=48))), [(4, 6), (6, 2)],
        size={"shortest_edge": 16 * 16, "longest_edge": 40 * 40}, image_mean=[0.4, 0.5, 0.6], resample=2)
    torch.manual_seed(19)
    deep = dict(depth=4, hidden_size=24, num_heads=3, intermediate_size=20, out_hidden_size=48)
    qwen3 = lambda **more: whole(T.Qwen3VLConfig, deep | more, head_dim=16, num_hidden_layers=3,
                                 rope_parameters=rope("default", mrope_section=[4, 2, 1]))
    seeing("qwen3_vl_sees", T.Qwen3VLForConditionalGeneration(qwen3(
        num_position_embeddings=49, deepstack_visual_indexes=[2, 0])), [(6, 10), (4, 2)],
        size={"shortest_edge": 16 * 16, "longest_edge": 40 * 40}, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    experts = dict(head_dim=16, num_hidden_layers=3, rope_parameters=rope("default", mrope_section=[4, 2, 1]),
                   num_experts=5, num_experts_per_tok=2, moe_intermediate_size=10, mlp_only_layers=[1])
    # More of them than the decoder has layers, and smaller images than it was trained with.
    seeing("qwen3_vl_sees_all", T.Qwen3VLForConditionalGeneration(qwen3(
        num_position_embeddings=256, deepstack_visual_indexes=[3, 1, 0, 2], hidden_act="silu")), [(2, 12), (6, 6)],
        min_pixels=20 * 20, max_pixels=33 * 33)
    torch.manual_seed(20)
    seeing("qwen3_vl_moe_sees", T.Qwen3VLMoeForConditionalGeneration(whole(
        T.Qwen3VLMoeConfig, deep | dict(num_position_embeddings=49, deepstack_visual_indexes=[2, 0]), **experts)),
        [(6, 10), (4, 2)], size={"shortest_edge": 16 * 16, "longest_edge": 40 * 40}, image_mean=[0.5] * 3,
        image_std=[0.5] * 3)
    torch.manual_seed(29)
    remembering = dict(
        num_hidden_layers=3, num_attention_heads=4, head_dim=32, linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=6, linear_value_head_dim=10,
        layer_types=["linear_attention", "full_attention", "linear_attention"],
        rope_parameters=rope("default", mrope_section=[3, 2, 3], mrope_interleaved=True, partial_rotary_factor=0.5))
    third = {key: value for key, value in deep.items() if key != "depth"}
    seeing("qwen3_5_sees", T.Qwen3_5ForConditionalGeneration(whole(
        T.Qwen3_5Config, third | dict(depth=2, num_position_embeddings=49), **remembering)), [(6, 10), (4, 2)],
        size={"shortest_edge": 16 * 16, "longest_edge": 40 * 40}, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    torch.manual_seed(51)
    # Without sections, and with more pairs than the usual ones have.
    wide = remembering | dict(rope_parameters=rope("default", partial_rotary_factor=1.0), head_dim=72, num_attention_heads=2,
                              num_key_value_heads=1)
    seeing("qwen3_5_moe_sees", T.Qwen3_5MoeForConditionalGeneration(whole(
        T.Qwen3_5MoeConfig, third | dict(depth=3, num_position_embeddings=256, hidden_act="silu"), **wide, num_experts=5,
        num_experts_per_tok=2, moe_intermediate_size=10, shared_expert_intermediate_size=24)), [(2, 12), (6, 6)],
        size={"shortest_edge": 16 * 16, "longest_edge": 40 * 40})
