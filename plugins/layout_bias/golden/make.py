"""Made by tools/golden.py: the biases of transformers' LayoutLMv3Encoder, with its arithmetic in float32 for buckets."""

import math

import torch
from golden import random, write


def bucket(distance, buckets, max_distance):
    """LayoutLMv3Encoder.relative_position_bucket of transformers."""
    buckets //= 2
    first, n = (distance > 0).long() * buckets, distance.abs()
    exact = buckets // 2
    large = exact + (torch.log(n.float() / exact) / math.log(max_distance / exact) * (buckets - exact)).long()
    return first + torch.where(n < exact, n, large.clamp(max=buckets - 1))


def biases(places, table, max_distance):
    """LayoutLMv3Encoder._relative_position_lookup of transformers: (B, heads, rows, rows)."""
    distances = (places[:, None, :] - places[:, :, None]).clamp(-max_distance, max_distance)
    return table[:, bucket(distances, table.shape[1], max_distance)].transpose(0, 1)


def boxes_of_image(side, most=1000):
    """LayoutLMv3Model.create_visual_bbox of transformers."""
    steps = torch.div(torch.arange(0, most * (side + 1), most), side, rounding_mode="trunc")
    boxes = torch.stack([steps[:-1].repeat(side, 1), steps[:-1].repeat(side, 1).T,
                         steps[1:].repeat(side, 1), steps[1:].repeat(side, 1).T], -1).view(-1, 4)
    return torch.cat([torch.tensor([[1, 1, most - 1, most - 1]]), boxes])


def case(name, length, side, buckets=None, box_buckets=None, max_distance=128, max_box_distance=256, scale=1.0, heads=2):
    boxes, lengths = torch.randint(0, 1001, (2, length, 4)), torch.tensor([length, max(length - 3, 0)])
    places, all_boxes = torch.arange(length).expand(2, -1), boxes
    if side:
        image = boxes_of_image(side).expand(2, -1, -1)
        all_boxes = torch.cat([boxes, image], 1)
        places = torch.cat([places, torch.arange(image.shape[1]).expand(2, -1)], 1)
    rows, weights = places.shape[1], {}
    y = torch.zeros(2, heads, rows, rows, dtype=torch.float64)
    if buckets:
        weights["table"] = random(heads, buckets)
        y = y + biases(places, weights["table"], max_distance)
    if box_buckets:
        weights |= {"x_table": random(heads, box_buckets), "y_table": random(heads, box_buckets)}
        y = y + biases(all_boxes[..., 0], weights["x_table"], max_box_distance)
        y = y + biases(all_boxes[..., 3], weights["y_table"], max_box_distance)
    y = y * scale
    mask = (torch.arange(rows) < lengths[:, None]) | (torch.arange(rows) >= length)
    write(__file__, name, {"heads": heads, "image_rows": rows - length, "scale": scale, "max_distance": max_distance,
                           "max_box_distance": max_box_distance},
          {"boxes": boxes, "lengths": lengths}, {"y": y, "key_mask": mask.int()}, weights)


case("page", 9, 3, 32, 64, scale=0.125)
case("text_alone", 11, 0, 7, 10, max_distance=5, max_box_distance=700)
case("no_boxes", 5, 2, buckets=32)
case("no_order", 40, 0, box_buckets=64, heads=1)
case("filler_alone", 6, 2)
