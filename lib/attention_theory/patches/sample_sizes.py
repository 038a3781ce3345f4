"""How many samples patch association takes: the trajectories behind the chapter on learning from samples.

    python -m attention_theory.patches.sample_sizes --out book/data --jobs 2

writes ``patch_sample_sizes.json``: for each number of samples and each seed the test error, the association and the
alignment along the way.
"""

import argparse
import json
from pathlib import Path

import torch

from attention_theory.patches.distribution import PatchDistribution
from attention_theory.patches.training import train_vit
from attention_theory.sweep import provenance, sweep

#: D, C, d, q, sigma of the data, and the descent.
SETTING = {"D": 16, "C": 4, "d": 16, "q": 0.5, "sigma": 0.25}
DESCENT = {"steps": 300, "rate_v": 3e-3, "rate_A": 10.0, "every": 10, "tests": 10_000}
SIZES = (50, 200, 1000, 4000)


def run(N: int, seed: int, device: str = "cpu", **descent) -> dict:
    """One training, as a row of rounded columns."""
    torch.set_num_threads(1)
    path = train_vit(PatchDistribution(**SETTING), N, seed=seed, device=device, **(DESCENT | descent))
    columns = {"error": path.error, "association": path.association, "alignment": path.alignment}
    return {"N": N, "seed": seed} | {name: [round(x, 4) for x in column.tolist()] for name, column in columns.items()}


def main(arguments: list[str] | None = None) -> None:
    """Command line; see the top of the module."""
    parser = argparse.ArgumentParser(prog="sample_sizes", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the file")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--steps", type=int, default=DESCENT["steps"])
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args(arguments)
    # longest first, so that no process is left with one at the end
    points = [{"N": N, "seed": seed} for N in sorted(given.sizes, reverse=True) for seed in range(given.seeds)]
    extra = {"device": given.device, "steps": given.steps}
    runs = sorted(sweep(run, [point | extra for point in points], jobs=given.jobs, title="sizes"), key=lambda r: (r["N"], r["seed"]))
    command = f"python -m attention_theory.patches.sample_sizes --seeds {given.seeds} --sizes {' '.join(map(str, given.sizes))}"
    every = DESCENT["every"]
    record = {
        "command": f"{command} --steps {given.steps}",
        **provenance(given.device),
        "setting": SETTING,
        "descent": DESCENT | {"steps": given.steps},
        "steps": sorted({*range(0, given.steps + 1, every), given.steps}),
        "runs": runs,
    }
    text = "{\n" + ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in record.items() if key != "runs")
    text += ',\n"runs": [\n' + ",\n".join(map(json.dumps, runs)) + "\n]}\n"
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "patch_sample_sizes.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
