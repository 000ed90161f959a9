"""Captions from a vision-language model, and from the task's name where that says it all."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kin4d.episodes.annotators.weights import load_model, load_processor

FULL = "Describe in one sentence what the robot arm does, and with which objects."
SCENE = "Describe the scene around the robot arm in one sentence: objects, table and background."
_FORMS = ("{}", "{} with the arm", "please {}", "the robot should {}")


class CaptionModel:
    """A vision-language model: Qwen-VL, SmolVLM, LLaVA, ...

    Args:
        weights: A folder, or a hub's id; see `load_model`.
        prompt: The question to the model.
        frames: How many frames it is shown, spread evenly.
        max_tokens: Longest answer.
        device: Where it runs.
    """

    def __init__(
        self,
        weights: str | Path,
        *,
        prompt: str = FULL,
        frames: int = 4,
        max_tokens: int = 64,
        device: str = "cpu",
    ) -> None:
        self._model = load_model("AutoModelForImageTextToText", weights, device=device)
        self._processor = load_processor("AutoProcessor", weights)
        self._prompt, self._frames, self._max_tokens = prompt, frames, max_tokens
        self._device = device

    def __call__(self, rgb: np.ndarray) -> str:
        """The answer about frames [T, H, W, 3] uint8."""
        import torch
        from PIL import Image

        index = np.unique(np.linspace(0, len(rgb) - 1, self._frames).round().astype(int))
        images = [Image.fromarray(rgb[i]) for i in index]
        content = [{"type": "image"} for _ in images] + [{"type": "text", "text": self._prompt}]
        text = self._processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )
        inputs = self._processor(images=images, text=text, return_tensors="pt").to(self._device)
        with torch.inference_mode():
            tokens = self._model.generate(
                **inputs, max_new_tokens=self._max_tokens, do_sample=False
            )
        answer = tokens[:, inputs["input_ids"].shape[1] :]
        return self._processor.batch_decode(answer, skip_special_tokens=True)[0].strip()


def template_caption(task: str, *, seed: int = 0) -> str:
    """A sentence for a task's name, in a form chosen by `seed`: "open the drawer"."""
    words = task.replace("_", " ").split()
    if not words:
        return ""
    verb, *rest = words
    what = f"{verb} the {' '.join(rest)}" if rest else verb
    return _FORMS[seed % len(_FORMS)].format(what)
