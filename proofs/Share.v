(* Part V, "How much of the exponential?": the share of a key, and the weights that do not see an added number.
   A row of attention is the list of its scores; u turns scores into weights. *)
Require Import Reals Lra Lia List.
Import ListNotations.
Open Scope R_scope.

Fixpoint total (u : R -> R) (row : list R) : R :=
  match row with
  | [] => 0
  | s :: others => u s + total u others
  end.

(* The weight of the i-th key of a row, counted from 0. *)
Definition weight (u : R -> R) (row : list R) (i : nat) : R := u (nth i row 0) / total u row.

Lemma total_repeat u s n : total u (repeat s n) = INR n * u s.
Proof.
  induction n as [|n IH]; simpl repeat; [simpl; ring|].
  rewrite S_INR; simpl; rewrite IH; ring.
Qed.

Lemma total_map u f row : total u (map f row) = total (fun s => u (f s)) row.
Proof. induction row as [|s row IH]; simpl; [|rewrite IH]; reflexivity. Qed.

Lemma total_scaled u v c row : (forall s, In s row -> u s = c * v s) -> total u row = c * total v row.
Proof.
  intros E; induction row as [|s row IH]; simpl; [ring|].
  rewrite (E s) by (left; reflexivity).
  rewrite IH by (intros; apply E; right; assumption); ring.
Qed.

Lemma total_positive u row : (forall s, In s row -> 0 < u s) -> row <> [] -> 0 < total u row.
Proof.
  intros P; induction row as [|s [|t row] IH]; intros N; [contradiction N; reflexivity| |].
  - simpl; specialize (P s (or_introl eq_refl)); lra.
  - assert (0 < total u (t :: row)) by (apply IH; [intros; apply P; right; assumption | discriminate]).
    specialize (P s (or_introl eq_refl)); simpl in *; lra.
Qed.

(* exponential/own-share, the claim: one key with score s1 among A >= 1 rivals with score s0. *)
Theorem share_contrast (u : R -> R) (s1 s0 w : R) (A : nat) :
  0 < u s1 -> 0 < u s0 -> 0 < w < 1 -> (1 <= A)%nat ->
  let r := u s1 / u s0 in
  let share := weight u (s1 :: repeat s0 A) 0 in
  share = r / (r + INR A) /\ (share >= w <-> r >= INR A * (w / (1 - w))).
Proof.
  intros P1 P0 [W0 W1] HA r share.
  assert (0 < INR A) by (apply lt_0_INR; lia).
  assert (0 < r) by (apply Rdiv_lt_0_compat; assumption).
  assert (E : share = r / (r + INR A)).
  { unfold share, weight, r; simpl; rewrite total_repeat; field.
    assert (0 < INR A * u s0) by (apply Rmult_lt_0_compat; assumption); lra. }
  split; [exact E|]; rewrite E.
  assert (D : r / (r + INR A) - w = (1 - w) * (r - INR A * (w / (1 - w))) / (r + INR A)) by (field; lra).
  assert (I : 0 < (1 - w) / (r + INR A)) by (apply Rdiv_lt_0_compat; lra).
  replace ((1 - w) * (r - INR A * (w / (1 - w))) / (r + INR A))
    with ((1 - w) / (r + INR A) * (r - INR A * (w / (1 - w)))) in D by (field; lra).
  split; intros G.
  - destruct (Rge_dec r (INR A * (w / (1 - w)))) as [K|K]; [exact K|].
    assert (0 < (1 - w) / (r + INR A) * (INR A * (w / (1 - w)) - r)) by (apply Rmult_lt_0_compat; lra); lra.
  - assert (0 <= (1 - w) / (r + INR A) * (r - INR A * (w / (1 - w)))) by (apply Rmult_le_pos; lra); lra.
Qed.

(* exponential/own-share, the scope: rivals with scores of their own. *)
Theorem share_of_unequal_rivals (u : R -> R) (s1 : R) (rivals : list R) :
  0 < u s1 -> (forall s, In s rivals -> 0 < u s) ->
  weight u (s1 :: rivals) 0 = 1 / (1 + total (fun s => u s / u s1) rivals).
Proof.
  intros P1 P; unfold weight; simpl.
  rewrite (total_scaled (fun s => u s / u s1) u (/ u s1)) by (intros; unfold Rdiv; ring).
  assert (0 <= total u rivals).
  { destruct rivals; [simpl; lra|]; apply Rlt_le, total_positive; [assumption | discriminate]. }
  field; lra.
Qed.

(* exponential/own-share, the scope: where u grows, rivals at most s0 can only help the key. *)
Theorem lower_rivals_help (u : R -> R) (s1 s0 : R) (rivals : list R) :
  0 < u s1 -> (forall s, In s rivals -> 0 < u s) -> (forall s t, s <= t -> u s <= u t) ->
  (forall s, In s rivals -> s <= s0) ->
  weight u (s1 :: rivals) 0 >= weight u (s1 :: repeat s0 (length rivals)) 0.
Proof.
  intros P1 P G L; unfold weight; simpl; rewrite total_repeat.
  assert (0 <= total u rivals <= INR (length rivals) * u s0).
  { clear P1; induction rivals as [|s rivals IH]; [simpl; lra|].
    simpl length; rewrite S_INR; simpl total.
    assert (0 < u s) by (apply P; left; reflexivity).
    assert (u s <= u s0) by (apply G, L; left; reflexivity).
    assert (0 <= total u rivals <= INR (length rivals) * u s0)
      by (apply IH; intros; [apply P | apply L]; right; assumption); lra. }
  apply Rle_ge; unfold Rdiv; apply Rmult_le_compat_l; [lra|].
  apply Rinv_le_contravar; lra.
Qed.

(* Cauchy's equation: a continuous additive function is linear. What is left after the linear part has period 1, so it is
   bounded, and a bounded additive function is 0. *)
Section Cauchy.
  Variable g : R -> R.
  Hypothesis continuous : continuity g.
  Hypothesis additive : forall x y, g (x + y) = g x + g y.

  Let h x := g x - g 1 * x.

  Lemma h_additive x y : h (x + y) = h x + h y.
  Proof. unfold h; rewrite additive; ring. Qed.

  Lemma h_zero : h 0 = 0.
  Proof. pose proof (h_additive 0 0) as E; rewrite Rplus_0_r in E; lra. Qed.

  Lemma h_times n x : h (INR n * x) = INR n * h x.
  Proof.
    induction n as [|n IH]; [simpl; rewrite !Rmult_0_l; exact h_zero|].
    rewrite S_INR; replace ((INR n + 1) * x) with (INR n * x + x) by ring.
    rewrite h_additive, IH; ring.
  Qed.

  Lemma h_opposite x : h (- x) = - h x.
  Proof. pose proof (h_additive x (- x)) as E; rewrite Rplus_opp_r, h_zero in E; lra. Qed.

  Lemma h_whole k : h (IZR k) = 0.
  Proof.
    assert (one : h 1 = 0) by (unfold h; ring).
    assert (N : forall n, h (INR n) = 0).
    { intros n; replace (INR n) with (INR n * 1) by ring; rewrite h_times, one; ring. }
    destruct (Z_le_gt_dec 0 k).
    - rewrite <- (Z2Nat.id k) by assumption; rewrite <- INR_IZR_INZ; apply N.
    - replace (IZR k) with (- INR (Z.to_nat (- k))); [rewrite h_opposite, N; ring|].
      rewrite INR_IZR_INZ, Z2Nat.id, opp_IZR by lia; ring.
  Qed.

  Lemma h_bounded : exists M, forall x, h x <= M.
  Proof.
    assert (C : forall x, 0 <= x <= 1 -> continuity_pt h x).
    { intros x _; apply continuity_pt_minus; [apply continuous|].
      apply continuity_pt_scal, derivable_continuous_pt, derivable_pt_id. }
    destruct (continuity_ab_maj h 0 1 Rle_0_1 C) as [top [T _]].
    exists (h top); intros x.
    destruct (base_Int_part x).
    replace x with ((x - IZR (Int_part x)) + IZR (Int_part x)) by ring.
    rewrite h_additive, h_whole, Rplus_0_r; apply T; lra.
  Qed.

  Lemma h_vanishes x : h x = 0.
  Proof.
    destruct h_bounded as [M B].
    assert (not_positive : forall y, h y <= 0).
    { intros y; destruct (Rle_dec (h y) 0) as [L|L]; [exact L|].
      assert (0 < h y) by lra.
      destruct (archimed_cor1 (h y / (Rabs M + 1))) as [n [small pos]].
      { apply Rdiv_lt_0_compat; [assumption|]; pose proof (Rabs_pos M); lra. }
      pose proof (B (INR n * y)) as bound; rewrite h_times in bound.
      assert (0 < INR n) by (apply lt_0_INR; assumption).
      pose proof (Rle_abs M); pose proof (Rabs_pos M).
      assert (Rabs M + 1 < INR n * h y); [|lra].
      apply Rmult_lt_reg_r with (/ (Rabs M + 1) * / INR n); [apply Rmult_lt_0_compat; apply Rinv_0_lt_compat; lra|].
      replace ((Rabs M + 1) * (/ (Rabs M + 1) * / INR n)) with (/ INR n) by (field; lra).
      replace (INR n * h y * (/ (Rabs M + 1) * / INR n)) with (h y / (Rabs M + 1)) by (field; lra).
      exact small. }
    pose proof (not_positive x); pose proof (not_positive (- x)); rewrite h_opposite in *; lra.
  Qed.

  Lemma cauchy x : g x = g 1 * x.
  Proof. pose proof (h_vanishes x); unfold h in *; lra. Qed.
End Cauchy.

Lemma continuity_ln x : 0 < x -> continuity_pt ln x.
Proof. intros P; apply derivable_continuous_pt; exists (/ x); apply derivable_pt_lim_ln; exact P. Qed.

Lemma continuity_exp : continuity exp.
Proof. intros x; apply derivable_continuous_pt, derivable_pt_exp. Qed.

(* Two keys: unchanged weights are unchanged quotients. *)
Lemma quotient_of_two (u : R -> R) (a b a' b' : R) :
  0 < u a -> 0 < u b -> 0 < u a' -> 0 < u b' ->
  weight u [a'; b'] 0 = weight u [a; b] 0 -> u a' / u b' = u a / u b.
Proof.
  unfold weight; simpl; rewrite !Rplus_0_r; intros A B A' B' E.
  assert (E' : u a' * (u a + u b) = u a * (u a' + u b')).
  { apply Rmult_eq_reg_r with (/ (u a + u b) * / (u a' + u b')).
    - replace (u a' * (u a + u b) * (/ (u a + u b) * / (u a' + u b'))) with (u a' / (u a' + u b')) by (field; lra).
      rewrite E; field; lra.
    - apply Rgt_not_eq, Rmult_lt_0_compat; apply Rinv_0_lt_compat; lra. }
  apply Rmult_eq_reg_r with (u b' * u b); [|apply Rgt_not_eq, Rmult_lt_0_compat; assumption].
  replace (u a' / u b' * (u b' * u b)) with (u a' * u b) by (field; lra).
  replace (u a / u b * (u b' * u b)) with (u a * u b') by (field; lra).
  lra.
Qed.

(* Common factors of u do not show in the weights. *)
Lemma weight_scaled (u v : R -> R) (c : R) (row : list R) (i : nat) :
  0 < c -> (forall s, In s row -> 0 < v s) -> (forall s, In s row -> u s = c * v s) -> (i < length row)%nat ->
  weight u row i = weight v row i.
Proof.
  intros P V E L; unfold weight; rewrite (total_scaled u v c row E), (E (nth i row 0)) by (apply nth_In, L).
  assert (0 < total v row) by (apply total_positive; [exact V | intros ->; inversion L]).
  field; lra.
Qed.

Lemma weight_map (u f : R -> R) (row : list R) (i : nat) :
  (i < length row)%nat -> weight u (map f row) i = weight (fun s => u (f s)) row i.
Proof.
  intros L; unfold weight; rewrite total_map; do 2 f_equal.
  rewrite (nth_indep _ 0 (f 0)) by (rewrite map_length; exact L); apply map_nth.
Qed.

(* exponential/own-invariance (i): weights that do not see an added number. *)
Theorem only_the_exponential (u : R -> R) :
  continuity u -> (forall z, 0 < u z) ->
  (forall row t i, (i < length row)%nat -> weight u (map (fun s => s + t) row) i = weight u row i)
  <-> exists c beta, 0 < c /\ forall z, u z = c * exp (beta * z).
Proof.
  intros C P; split.
  - intros I; set (g := fun z => ln (u z / u 0)).
    assert (Q : forall z, 0 < u z / u 0) by (intros; apply Rdiv_lt_0_compat; apply P).
    assert (G : forall x, g x = g 1 * x).
    { apply cauchy.
      - intros x; apply (continuity_pt_comp (fun z => u z / u 0) ln).
        + apply continuity_pt_mult; [apply C|]; apply continuity_pt_const; intros ? ?; reflexivity.
        + apply continuity_ln, Q.
      - intros x y; unfold g; rewrite <- ln_mult by apply Q; f_equal.
        pose proof (I [x; 0] y 0%nat (Nat.lt_0_succ 1)) as E; simpl in E; rewrite Rplus_0_l in E.
        apply quotient_of_two in E; try apply P.
        pose proof (P 0); pose proof (P y).
        replace (u (x + y) / u 0) with (u (x + y) / u y * (u y / u 0)) by (field; lra).
        rewrite E; reflexivity. }
    exists (u 0), (g 1); split; [apply P|]; intros z.
    rewrite <- G; unfold g; rewrite exp_ln by apply Q; pose proof (P 0); field; lra.
  - intros [c [beta [Hc E]]] row t i L; rewrite weight_map by exact L.
    apply (weight_scaled (fun s => u (s + t)) u (exp (beta * t))); [apply exp_pos | intros; apply P | | exact L].
    intros s _; rewrite !E, Rmult_plus_distr_l, exp_plus; ring.
Qed.

(* exponential/own-invariance (ii): weights that do not see a positive factor. *)
Theorem only_the_powers (u : R -> R) :
  (forall z, 0 < z -> continuity_pt u z) -> (forall z, 0 < z -> 0 < u z) ->
  (forall row t i, 0 < t -> (forall s, In s row -> 0 < s) -> (i < length row)%nat ->
    weight u (map (fun s => t * s) row) i = weight u row i)
  <-> exists c p, 0 < c /\ forall z, 0 < z -> u z = c * Rpower z p.
Proof.
  intros C P; split.
  - intros I.
    assert (C' : continuity (fun z => u (exp z))).
    { intros z; apply (continuity_pt_comp exp u); [apply continuity_exp | apply C, exp_pos]. }
    destruct (proj1 (only_the_exponential _ C' (fun z => P _ (exp_pos z)))) as [c [p [Hc E]]].
    + intros row t i L.
      rewrite <- (weight_map u exp (map (fun s => s + t) row)), <- (weight_map u exp row) by (try rewrite map_length; exact L).
      rewrite map_map; rewrite <- (I (map exp row) (exp t) i).
      * rewrite map_map; f_equal; apply map_ext; intros s; rewrite exp_plus; ring.
      * apply exp_pos.
      * intros s M; apply in_map_iff in M; destruct M as [x [<- _]]; apply exp_pos.
      * rewrite map_length; exact L.
    + exists c, p; split; [exact Hc|]; intros z Z; unfold Rpower.
      rewrite <- (exp_ln z Z) at 1; rewrite E; reflexivity.
  - intros [c [p [Hc E]]] row t i T Pos L; rewrite weight_map by exact L.
    apply (weight_scaled (fun s => u (t * s)) u (Rpower t p)); [apply exp_pos | intros; apply P, Pos; assumption | | exact L].
    intros s M; pose proof (Pos s M); pose proof (Rmult_lt_0_compat t s T ltac:(assumption)).
    rewrite !E by assumption; rewrite <- Rpower_mult_distr by assumption; ring.
Qed.
