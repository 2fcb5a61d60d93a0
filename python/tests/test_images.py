"""Images in, classes and vectors out: what the command prints."""

import asyncio
import json
import shutil

import numpy as np
import pytest

import lamina

from conftest import source

architectures = source / "tests" / "architectures"
photo = architectures / "images" / "files" / "photo.png"


@pytest.fixture
def model(tmp_path):
    """One of tests/architectures/models, with what it takes to read images."""

    def folder(name, files="images"):
        out = tmp_path / name
        shutil.copytree(architectures / "models" / name, out)
        shutil.copytree(architectures / files / name, out, dirs_exist_ok=True)
        return out

    return folder


def facts(scores):
    return [{"label": s.label, "score": s.score} for s in scores]


def test_classes_are_those_of_the_command(model, command):
    folder = model("vit")
    vit = lamina.load(folder, "cpu")
    expected = command("run", folder, photo)[0]["labels"]
    assert facts(vit.classify_images(photo)) == expected
    image = lamina.read_image(photo)
    assert (image.width, image.height, image.pixels.shape) == (37, 23, (23, 37, 3))
    calls = []
    several = vit.classify_images([image, image.pixels, np.asfortranarray(image.pixels)], batch=2,
                                  progress=lambda done, all: calls.append((done, all)))
    assert [facts(each) for each in several] == [expected] * 3 and calls == [(2, 3), (3, 3)]
    with pytest.raises(lamina.UsageError):
        vit.embed_images(photo)
    with pytest.raises(lamina.UsageError):
        vit.classify_images(photo, ["a cat"])


def test_labels_and_vectors_are_those_of_the_command(model, command):
    folder = model("clip")
    clip = lamina.load(folder, "cpu")
    expected = json.loads(json.dumps(command("run", folder, photo, "--labels", "w7, w9")[0]["labels"]))
    assert facts(clip.classify_images(photo, ["w7", "w9"])) == expected
    assert clip.embed_images([str(photo)]).shape == (1, 28) and clip.embed("w3").shape == (28,)
    assert facts(clip.classify_images(photo, ["w7", "w9"], sentence="{}")) != expected


def test_texts_of_images_are_those_of_the_command(model, command):
    folder = model("trocr", "image_texts")
    trocr = lamina.load(folder, "cpu")
    expected = command("run", folder, photo, "--max-length", "6")[0]["output"]
    assert trocr.generate_from_images(photo, max_length=6) == expected == "w34 w16 w16 w16 w16 w16"
    assert trocr.generate_from_images([photo, lamina.read_image(photo)], max_length=6, beams=1) == [expected] * 2
    assert asyncio.run(trocr.generate_from_images_async(photo, max_length=6)) == expected
    assert asyncio.run(trocr.generate_from_images_async([photo], max_length=6)) == [expected]
    pieces = []
    trocr.generate_from_images(photo, max_length=6, stream=lambda _, piece: pieces.append(piece))
    assert "".join(pieces) == expected
    with pytest.raises(lamina.InputError, match="takes images, not text"):
        trocr.generate("w3")
    with pytest.raises(lamina.UsageError, match="does not write texts of images"):
        lamina.load(model("vit"), "cpu").generate_from_images(photo)


def test_what_is_no_image_is_refused(model, tmp_path):
    vit = lamina.load(model("vit"), "cpu")
    for wrong in (np.zeros((4, 5, 3)), np.zeros((4, 5), np.uint8)):
        with pytest.raises(TypeError, match="uint8"):
            vit.classify_images(wrong)
    with pytest.raises(lamina.InputError, match="4 channels"):
        vit.classify_images(np.zeros((4, 5, 4), np.uint8))
    (tmp_path / "text.png").write_text("not an image")
    with pytest.raises(lamina.InputError, match="PNG, JPEG or WebP"):
        vit.classify_images(tmp_path / "text.png")
