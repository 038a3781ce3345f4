"""A proof that Coq checks proves its statement: with another constant, sign or hypothesis Coq refuses it."""

import shutil

import pytest
from theorybook.tools.coq import axioms, coqc

if not shutil.which("coqc"):
    pytest.skip("Coq is not installed: make proofs says how", allow_module_level=True)

#: File, what stands in it, and what is put there: every changed statement is false, but for the third.
CHANGES = {
    "a strict sign": ("Share", "(share >= w <-> r >= INR", "(share >= w <-> r > INR"),
    "one rival more": ("Share", "share = r / (r + INR A) /\\", "share = r / (r + INR (S A)) /\\"),
    "less than continuous": ("Share", "  continuity u -> (forall z, 0 < u", "  continuity_pt u 0 -> (forall z, 0 < u"),
    "weights that vanish": ("Share", "  continuity u -> (forall z, 0 < u", "  continuity u -> (forall z, 0 <= u"),
    "more than the least sharpness": ("Share", "0 >= w <-> beta >= ln (INR A", "0 >= w <-> beta > ln (INR A"),
    "one key more": ("Share", "u h + INR (length row - 1) * u l).\nProof.", "u h + INR (length row) * u l).\nProof."),
    "a sink for one key less": ("Share", "t >= s + (ln (INR N) +", "t >= s + (ln (INR (N - 1)) +"),
    "a lower power": ("Share", "<= (s1 / s0) ^ p.", "<= (s1 / s0) ^ (p - 1)."),
    "one group more": ("Range", "w -> rho <= INR (L - 1) *", "w -> rho <= INR L *"),
    "a weak sign in the range": ("Range", "w i p < rho * w i q.", "w i p <= rho * w i q."),
    "the bound itself": ("Range", "INR k / INR C < rho -> 1 < rho", "INR k / INR C <= rho -> 1 < rho"),
    "as many points as patterns": ("Labels", "(patterns p d < n)%nat ->", "(patterns p d <= n)%nat ->"),
    "one degree more": ("Labels", "fits (polynomial p coefficient) 2 (2", "fits (polynomial (S p) coefficient) 2 (2"),
    "half the count": ("Labels", "<= 2 * binom_sum (n - 1)", "<= binom_sum (n - 1)"),
    "a denominator of any sign": ("Labels", "-> 0 < u (inner d (w r) (x i)))", "-> 0 <> u (inner d (w r) (x i)))"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_statement_is_refused(change, root, tmp_path):
    file, old, new = CHANGES[change]
    text = (root / "proofs" / f"{file}.v").read_text(encoding="utf-8")
    assert text.count(old) == 1
    changed = tmp_path / f"{file}.v"
    changed.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ValueError, match="Coq refuses it"):
        coqc(changed)


def test_what_is_admitted_counts_as_an_axiom(tmp_path):
    file = tmp_path / "Admits.v"
    file.write_text("Theorem proved : 1 = 1. Proof. reflexivity. Qed.\nTheorem believed : 1 = 2. Admitted.\n", encoding="utf-8")
    coqc(file)
    assert axioms(tmp_path, ["proofs/Admits.v:proved"]) == set()
    assert axioms(tmp_path, ["proofs/Admits.v:proved", "proofs/Admits.v:believed"]) == {"Admits.believed"}
