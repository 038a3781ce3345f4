(* Part V, "How much of the exponential?": the share of a key, the weights that do not see an added number, and what follows for
   the least sharpness and degree, for truncated exponentials, for bounded scores and for a sink.
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

(* How sharp, or of which degree *)

Lemma ln_le_iff x y : 0 < x -> 0 < y -> (x <= y <-> ln x <= ln y).
Proof.
  intros X Y; split; intros L.
  - destruct (Rle_lt_or_eq_dec _ _ L) as [L'|E]; [apply Rlt_le, ln_increasing; assumption | rewrite E; lra].
  - destruct (Rle_dec x y) as [D|D]; [exact D|]; pose proof (ln_increasing y x Y ltac:(lra)); lra.
Qed.

(* The contrast as a power of a fixed number: the least exponent. *)
Lemma least_exponent (r k q gap : R) : 0 < r -> 0 < q -> 0 < gap -> ln r = k * gap -> (r >= q <-> k >= ln q / gap).
Proof.
  intros R0 Q G E; assert (D : k - ln q / gap = / gap * (ln r - ln q)) by (rewrite E; field; lra).
  assert (I : 0 < / gap) by (apply Rinv_0_lt_compat, G).
  split; intros L.
  - assert (ln q <= ln r) by (apply (proj1 (ln_le_iff q r Q R0)); lra).
    assert (0 <= / gap * (ln r - ln q)) by (apply Rmult_le_pos; lra); lra.
  - apply Rle_ge, (proj2 (ln_le_iff q r Q R0)).
    destruct (Rle_dec (ln q) (ln r)) as [F|F]; [exact F|].
    assert (0 < / gap * (ln q - ln r)) by (apply Rmult_lt_0_compat; lra); lra.
Qed.

Lemma rivals_over_share (A : nat) (w : R) : (1 <= A)%nat -> 0 < w < 1 -> 0 < INR A * (w / (1 - w)).
Proof. intros HA W; apply Rmult_lt_0_compat; [apply lt_0_INR; lia | apply Rdiv_lt_0_compat; lra]. Qed.

(* exponential/own-least-knob, the claim: the exponential. *)
Theorem least_sharpness (s1 s0 w beta : R) (A : nat) :
  s0 < s1 -> 0 < w < 1 -> (1 <= A)%nat ->
  weight (fun z => exp (beta * z)) (s1 :: repeat s0 A) 0 >= w <-> beta >= ln (INR A * (w / (1 - w))) / (s1 - s0).
Proof.
  intros S W HA.
  rewrite (proj2 (share_contrast (fun z => exp (beta * z)) s1 s0 w A (exp_pos _) (exp_pos _) W HA)).
  apply least_exponent; [apply Rdiv_lt_0_compat; apply exp_pos | apply rivals_over_share; assumption | lra |].
  unfold Rdiv; rewrite <- exp_Ropp, <- exp_plus, ln_exp; ring.
Qed.

(* exponential/own-least-knob, the claim: the power. *)
Theorem least_degree (s1 s0 w p : R) (A : nat) :
  0 < s0 < s1 -> 0 < w < 1 -> (1 <= A)%nat ->
  weight (fun z => Rpower z p) (s1 :: repeat s0 A) 0 >= w <-> p >= ln (INR A * (w / (1 - w))) / ln (s1 / s0).
Proof.
  intros S W HA.
  rewrite (proj2 (share_contrast (fun z => Rpower z p) s1 s0 w A (exp_pos _) (exp_pos _) W HA)).
  apply least_exponent; [apply Rdiv_lt_0_compat; apply exp_pos | apply rivals_over_share; assumption | |].
  - rewrite <- ln_1; apply ln_increasing; [lra|].
    apply Rmult_lt_reg_r with s0; [lra|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
  - unfold Rpower, Rdiv; rewrite <- exp_Ropp, <- exp_plus, ln_exp, ln_mult, ln_Rinv by (try apply Rinv_0_lt_compat; lra); ring.
Qed.

(* Bounded scores *)

Lemma total_at_least (u : R -> R) (low : R) (row : list R) :
  (forall s, In s row -> low <= u s) -> INR (length row) * low <= total u row.
Proof.
  intros L; induction row as [|s row IH]; [simpl; lra|].
  simpl length; rewrite S_INR; simpl.
  assert (low <= u s) by (apply L; left; reflexivity).
  assert (INR (length row) * low <= total u row) by (apply IH; intros; apply L; right; assumption); lra.
Qed.

Lemma total_with_one (u : R -> R) (low : R) (row : list R) (i : nat) :
  (forall s, In s row -> low <= u s) -> (i < length row)%nat ->
  u (nth i row 0) + INR (length row - 1) * low <= total u row.
Proof.
  revert i; induction row as [|s row IH]; intros i L H; [inversion H|].
  assert (R0 : low <= u s) by (apply L; left; reflexivity).
  assert (L' : forall t, In t row -> low <= u t) by (intros; apply L; right; assumption).
  destruct i as [|i]; simpl length; rewrite Nat.sub_succ, Nat.sub_0_r; simpl.
  - pose proof (total_at_least u low row L'); lra.
  - simpl in H; pose proof (IH i L' ltac:(lia)) as K.
    destruct row as [|t row]; [simpl in H; lia|]; simpl length in *; rewrite Nat.sub_succ, Nat.sub_0_r in K.
    rewrite S_INR; simpl in *; lra.
Qed.

(* exponential/own-dispersion, the claim: no weight exceeds the bound. *)
Theorem bounded_scores_disperse (u : R -> R) (l h : R) (row : list R) (i : nat) :
  (forall s, l <= s <= h -> 0 < u s) -> (forall s t, l <= s -> s <= t -> t <= h -> u s <= u t) ->
  (forall s, In s row -> l <= s <= h) -> (i < length row)%nat ->
  weight u row i <= u h / (u h + INR (length row - 1) * u l).
Proof.
  intros P G B I.
  assert (S : l <= nth i row 0 <= h) by (apply B, nth_In, I).
  assert (Ui : 0 < u (nth i row 0) <= u h) by (split; [apply P, S | apply G; lra]).
  assert (Ul : 0 < u l) by (apply P; lra).
  assert (T : u (nth i row 0) + INR (length row - 1) * u l <= total u row).
  { apply total_with_one; [|exact I]; intros s M; apply B in M; apply G; lra. }
  pose proof (Rmult_le_pos _ _ (pos_INR (length row - 1)) (Rlt_le _ _ Ul)) as K.
  set (k := INR (length row - 1) * u l) in *; set (x := u (nth i row 0)) in *; unfold weight; fold x.
  apply Rle_trans with (x / (x + k)).
  - apply Rmult_le_compat_l; [lra|]; apply Rinv_le_contravar; lra.
  - apply Rmult_le_reg_r with ((x + k) * (u h + k)); [apply Rmult_lt_0_compat; lra|].
    replace (x / (x + k) * ((x + k) * (u h + k))) with (x * (u h + k)) by (field; lra).
    replace (u h / (u h + k) * ((x + k) * (u h + k))) with (u h * (x + k)) by (field; lra).
    assert (x * k <= u h * k) by (apply Rmult_le_compat_r; lra); lra.
Qed.

(* exponential/own-dispersion, the claim: the bound is attained. *)
Theorem dispersion_attained (u : R -> R) (l h : R) (n : nat) :
  weight u (h :: repeat l n) 0 = u h / (u h + INR (length (h :: repeat l n) - 1) * u l).
Proof. unfold weight; simpl; rewrite total_repeat, repeat_length, Nat.sub_0_r; reflexivity. Qed.

(* Attending to nothing *)

(* What a row reads of one coordinate of its values: the sum of weight times value. *)
Fixpoint weighted (u : R -> R) (keys : list (R * R)) : R :=
  match keys with
  | [] => 0
  | (s, v) :: keys => u s * v + weighted u keys
  end.
Definition reads (u : R -> R) (keys : list (R * R)) : R := weighted u keys / total u (map fst keys).

Definition total_of (vs : list R) : R := fold_right Rplus 0 vs.

Lemma weighted_equal u s vs : weighted u (map (fun v => (s, v)) vs) = u s * total_of vs.
Proof. induction vs as [|v vs IH]; simpl; [ring|]; rewrite IH; unfold total_of; simpl; ring. Qed.

Lemma total_equal u s (vs : list R) : total u (map fst (map (fun v => (s, v)) vs)) = INR (length vs) * u s.
Proof.
  induction vs as [|v vs IH]; [simpl; ring|].
  simpl length; rewrite S_INR; simpl; rewrite IH; ring.
Qed.

(* exponential/own-sink, the claim: beside a sink of value 0 and score t the row reads 1 - p of the other values' mean. *)
Theorem reads_with_sink (t s : R) (vs : list R) : (1 <= length vs)%nat ->
  reads exp ((t, 0) :: map (fun v => (s, v)) vs) =
  (1 - weight exp (t :: repeat s (length vs)) 0) * (total_of vs / INR (length vs)).
Proof.
  intros N; unfold reads, weight; simpl; rewrite total_repeat, weighted_equal, total_equal.
  assert (P : 0 < INR (length vs)) by (apply lt_0_INR; lia).
  pose proof (exp_pos t); pose proof (Rmult_lt_0_compat _ _ P (exp_pos s)); field; lra.
Qed.

(* exponential/own-sink, the claim, with |v| for the length of the mean value. *)
Theorem attending_to_nothing (t s epsilon length_v : R) (N : nat) :
  (1 <= N)%nat -> 0 < length_v -> 0 < epsilon < 1 ->
  (1 - weight exp (t :: repeat s N) 0) * length_v <= epsilon * length_v
  <-> t >= s + (ln (INR N) + ln ((1 - epsilon) / epsilon)).
Proof.
  intros HN V E.
  assert (A : (1 - weight exp (t :: repeat s N) 0) * length_v <= epsilon * length_v <->
              weight exp (t :: repeat s N) 0 >= 1 - epsilon).
  { split; intros L; [apply Rmult_le_reg_r in L; lra | apply Rmult_le_compat_r; lra]. }
  rewrite A, (proj2 (share_contrast exp t s (1 - epsilon) N (exp_pos _) (exp_pos _) ltac:(split; lra) HN)).
  assert (P : 0 < INR N) by (apply lt_0_INR; lia).
  assert (Q : 0 < (1 - epsilon) / epsilon) by (apply Rdiv_lt_0_compat; lra).
  replace (1 - (1 - epsilon)) with epsilon by ring.
  rewrite (least_exponent (exp t / exp s) (t - s) (INR N * ((1 - epsilon) / epsilon)) 1).
  - rewrite ln_mult by assumption; unfold Rdiv at 1; rewrite Rinv_1; lra.
  - apply Rdiv_lt_0_compat; apply exp_pos.
  - apply Rmult_lt_0_compat; assumption.
  - lra.
  - unfold Rdiv; rewrite <- exp_Ropp, <- exp_plus, ln_exp; ring.
Qed.

(* Truncated exponentials *)

Definition truncated (p : nat) (s : R) : R := sum_f_R0 (fun k => / INR (fact k) * s ^ k) p.

Lemma factor_positive k : 0 < / INR (fact k).
Proof. apply Rinv_0_lt_compat, lt_0_INR, lt_O_fact. Qed.

Lemma term_positive s k : 0 < s -> 0 < / INR (fact k) * s ^ k.
Proof. intros S; apply Rmult_lt_0_compat; [apply factor_positive | apply pow_lt, S]. Qed.

Lemma truncated_positive p s : 0 < s -> 0 < truncated p s.
Proof.
  intros S; induction p as [|p IH]; [apply term_positive, S|].
  unfold truncated in *; rewrite tech5; pose proof (term_positive s (Datatypes.S p) S); lra.
Qed.

(* Powers of a larger number count for more the higher they are. *)
Lemma powers_apart s1 s0 k j : 0 < s0 < s1 -> (k <= j)%nat -> s1 ^ k * s0 ^ j <= s0 ^ k * s1 ^ j.
Proof.
  intros S L; replace j with (k + (j - k))%nat by lia; rewrite !pow_add.
  assert (0 < s1 ^ k * s0 ^ k) by (apply Rmult_lt_0_compat; apply pow_lt; lra).
  replace (s1 ^ k * (s0 ^ k * s0 ^ (j - k))) with (s1 ^ k * s0 ^ k * s0 ^ (j - k)) by ring.
  replace (s0 ^ k * (s1 ^ k * s1 ^ (j - k))) with (s1 ^ k * s0 ^ k * s1 ^ (j - k)) by ring.
  apply Rmult_le_compat_l; [lra | apply pow_incr; lra].
Qed.

Lemma powers_strictly_apart s1 s0 k : 0 < s0 < s1 -> s1 ^ k * s0 ^ S k < s0 ^ k * s1 ^ S k.
Proof.
  intros S; assert (P : 0 < s1 ^ k * s0 ^ k) by (apply Rmult_lt_0_compat; apply pow_lt; lra); simpl.
  replace (s1 ^ k * (s0 * s0 ^ k)) with (s1 ^ k * s0 ^ k * s0) by ring.
  replace (s0 ^ k * (s1 * s1 ^ k)) with (s1 ^ k * s0 ^ k * s1) by ring.
  apply Rmult_lt_compat_l; lra.
Qed.

Lemma truncated_below_power s1 s0 p j : 0 < s0 < s1 -> (p <= j)%nat ->
  truncated p s1 * s0 ^ j <= truncated p s0 * s1 ^ j.
Proof.
  intros S L; unfold truncated; induction p as [|p IH].
  - simpl; pose proof (powers_apart s1 s0 0 j S L) as P; simpl in P; lra.
  - rewrite !tech5, !Rmult_plus_distr_r.
    pose proof (IH ltac:(lia)) as H.
    pose proof (Rmult_le_compat_l _ _ _ (Rlt_le _ _ (factor_positive (Datatypes.S p)))
      (powers_apart s1 s0 (Datatypes.S p) j S L)) as P; lra.
Qed.

(* exponential/own-truncation, the claim: the ratio is at most the power's. *)
Theorem truncation_at_most_power (s1 s0 : R) (p : nat) :
  0 < s0 < s1 -> truncated p s1 / truncated p s0 <= (s1 / s0) ^ p.
Proof.
  intros S; pose proof (truncated_positive p s0 ltac:(lra)) as T; pose proof (pow_lt s0 p ltac:(lra)) as P.
  pose proof (truncated_below_power s1 s0 p p S (Nat.le_refl p)) as B.
  assert (Q : (s1 / s0) ^ p * s0 ^ p = s1 ^ p) by (rewrite <- Rpow_mult_distr; f_equal; field; lra).
  apply Rmult_le_reg_r with (truncated p s0 * s0 ^ p); [apply Rmult_lt_0_compat; assumption|].
  replace (truncated p s1 / truncated p s0 * (truncated p s0 * s0 ^ p)) with (truncated p s1 * s0 ^ p) by (field; lra).
  replace ((s1 / s0) ^ p * (truncated p s0 * s0 ^ p)) with (truncated p s0 * ((s1 / s0) ^ p * s0 ^ p)) by ring; rewrite Q.
  exact B.
Qed.

(* exponential/own-truncation, the claim: the ratio grows strictly with the degree. *)
Theorem truncation_grows (s1 s0 : R) (p : nat) :
  0 < s0 < s1 -> truncated p s1 / truncated p s0 < truncated (S p) s1 / truncated (S p) s0.
Proof.
  intros S; pose proof (truncated_positive p s0 ltac:(lra)) as T.
  pose proof (truncated_positive (Datatypes.S p) s0 ltac:(lra)) as T'.
  apply Rmult_lt_reg_r with (truncated p s0 * truncated (Datatypes.S p) s0); [apply Rmult_lt_0_compat; assumption|].
  replace (truncated p s1 / truncated p s0 * (truncated p s0 * truncated (Datatypes.S p) s0))
    with (truncated p s1 * truncated (Datatypes.S p) s0) by (field; lra).
  replace (truncated (Datatypes.S p) s1 / truncated (Datatypes.S p) s0 * (truncated p s0 * truncated (Datatypes.S p) s0))
    with (truncated p s0 * truncated (Datatypes.S p) s1) by (field; lra).
  assert (step : truncated p s1 * s0 ^ Datatypes.S p < truncated p s0 * s1 ^ Datatypes.S p).
  { unfold truncated; destruct p as [|p].
    - simpl; lra.
    - rewrite !tech5, !Rmult_plus_distr_r.
      pose proof (truncated_below_power s1 s0 p (Datatypes.S (Datatypes.S p)) S ltac:(lia)) as B; unfold truncated in B.
      pose proof (Rmult_lt_compat_l _ _ _ (factor_positive (Datatypes.S p))
        (powers_strictly_apart s1 s0 (Datatypes.S p) S)) as P; lra. }
  unfold truncated at 2 4; rewrite !tech5; fold (truncated p s0) (truncated p s1).
  pose proof (Rmult_lt_compat_l _ _ _ (factor_positive (Datatypes.S p)) step) as P; lra.
Qed.

Lemma truncated_limit s : Un_cv (fun p => truncated p s) (exp s).
Proof. unfold exp; destruct (exist_exp s) as [l E]; exact E. Qed.

(* exponential/own-truncation, the claim: it approaches the exponential's ratio. *)
Theorem truncation_approaches (s1 s0 : R) :
  0 < s0 < s1 -> Un_cv (fun p => truncated p s1 / truncated p s0) (exp (s1 - s0)).
Proof.
  intros S; unfold Rminus; rewrite exp_plus, exp_Ropp; unfold Rdiv.
  apply CV_mult; [apply truncated_limit|].
  intros epsilon E.
  pose proof (exp_pos s0) as X.
  assert (low : forall p, 1 <= truncated p s0).
  { induction p as [|p IH]; [unfold truncated; simpl; lra|].
    unfold truncated in *; rewrite tech5; pose proof (term_positive s0 (Datatypes.S p) ltac:(lra)); lra. }
  destruct (truncated_limit s0 (epsilon * exp s0)) as [N H]; [apply Rmult_lt_0_compat; assumption|].
  exists N; intros p L; specialize (H p L); specialize (low p); unfold R_dist in *.
  replace (/ truncated p s0 - / exp s0) with (- (truncated p s0 - exp s0) * (/ truncated p s0 * / exp s0)) by (field; lra).
  rewrite Rabs_mult, Rabs_Ropp.
  assert (I : 0 < / truncated p s0 <= 1).
  { split; [apply Rinv_0_lt_compat; lra|]; rewrite <- Rinv_1; apply Rinv_le_contravar; lra. }
  assert (J : 0 < / exp s0) by (apply Rinv_0_lt_compat, X).
  rewrite (Rabs_right (/ truncated p s0 * / exp s0)) by (apply Rle_ge, Rmult_le_pos; lra).
  pose proof (Rabs_pos (truncated p s0 - exp s0)) as A.
  apply Rle_lt_trans with (Rabs (truncated p s0 - exp s0) * (1 * / exp s0)).
  - apply Rmult_le_compat_l; [exact A | apply Rmult_le_compat_r; lra].
  - apply Rmult_lt_reg_r with (exp s0); [exact X|].
    replace (Rabs (truncated p s0 - exp s0) * (1 * / exp s0) * exp s0) with (Rabs (truncated p s0 - exp s0)) by (field; lra).
    exact H.
Qed.

(* exponential/own-truncation, the claim: it stays below the exponential's ratio. *)
Theorem truncation_below_exponential (s1 s0 : R) (p : nat) :
  0 < s0 < s1 -> truncated p s1 / truncated p s0 < exp (s1 - s0).
Proof.
  intros S; apply Rlt_le_trans with (1 := truncation_grows s1 s0 p S).
  apply (growing_ineq (fun p => truncated p s1 / truncated p s0)); [|apply truncation_approaches, S].
  intros q; apply Rlt_le, truncation_grows, S.
Qed.

(* exponential/own-truncation, the claim: a share that the exponential does not reach no degree reaches. *)
Theorem truncation_reaches_no_more (s1 s0 w : R) (A p : nat) :
  0 < s0 < s1 -> 0 < w < 1 -> (1 <= A)%nat ->
  weight exp (s1 :: repeat s0 A) 0 < w -> weight (truncated p) (s1 :: repeat s0 A) 0 < w.
Proof.
  intros S W HA L.
  pose proof (proj2 (share_contrast exp s1 s0 w A (exp_pos _) (exp_pos _) W HA)) as E.
  pose proof (proj2 (share_contrast (truncated p) s1 s0 w A
    (truncated_positive p s1 ltac:(lra)) (truncated_positive p s0 ltac:(lra)) W HA)) as T.
  pose proof (truncation_below_exponential s1 s0 p S) as B.
  assert (Q : exp s1 / exp s0 = exp (s1 - s0)) by (unfold Rminus; rewrite exp_plus, exp_Ropp; reflexivity).
  rewrite Q in E; apply Rnot_ge_lt; intros G; apply T in G.
  assert (weight exp (s1 :: repeat s0 A) 0 >= w) by (apply E; lra); lra.
Qed.
