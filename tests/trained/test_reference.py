"""Our page of torch against an independent implementation, whose numbers are recorded (``tools/reference_models.py``)."""

import pytest
import torch
from attention_checks.trained.smollm2 import smollm2
from attention_theory.trained import wheels
from attention_theory.trained.models import minilm
from conftest import BOOK
from theorybook.records import read_record

RECORD = read_record("trained-reference", BOOK / "data")
#: Largest difference of states and logits, which are of order 1 and 10: three digits.
CLOSE = {"minilm": 1e-3, "smollm2": 1e-2}


@pytest.mark.skipif(not wheels.installed(), reason=wheels.missing_sentence())
@pytest.mark.parametrize("row", list(RECORD.rows), ids=lambda row: f"{row['model']}: {row['text'][:12]}")
def test_the_models_compute_what_another_implementation_computes(row):
    model = {"minilm": minilm, "smollm2": smollm2}[row["model"]]()
    ids = model.tokens(row["text"])
    ids = model.framed(ids) if row["model"] == "minilm" else torch.tensor(ids)
    assert ids.tolist() == list(row["ids"])
    with torch.no_grad():
        states = model(ids)
    if row["model"] == "minilm":
        ours, theirs = states[:, :8].flatten(), torch.as_tensor(row["states"])
    else:
        words = torch.as_tensor(row["words"]).view(-1, 5)
        ours, theirs = model.logits(states).gather(1, words).flatten(), torch.as_tensor(row["logits"])
    assert float((ours - theirs.to(ours)).abs().max()) < CLOSE[row["model"]]
