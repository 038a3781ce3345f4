(* Part V, "How much of the exponential?": weights of a small range misread an image with many groups. *)
Require Import Reals Lra Lia List ZArith.
Import ListNotations.
Open Scope R_scope.

(* A patch is a group and a place in it: L groups of C. *)
Notation patch := (nat * nat)%type.
Definition patches (L C : nat) : list patch := list_prod (seq 0 L) (seq 0 C).

Fixpoint sum {A : Type} (f : A -> R) (l : list A) : R :=
  match l with
  | [] => 0
  | a :: l => f a + sum f l
  end.

(* What each patch carries: +1, -1 or nothing. *)
Definition image := patch -> Z.

(* One group, `own`, is full of the label's sign y, each other group has k patches of the other sign, and no other patch
   carries anything. *)
Definition crowded (L C k : nat) (own : nat) (y : Z) (x : image) : Prop :=
  (own < L)%nat /\ (y = 1 \/ y = -1)%Z /\
  (forall j, (j < C)%nat -> x (own, j) = y) /\
  (forall g, (g < L)%nat -> g <> own ->
    length (filter (fun j => x (g, j) =? - y)%Z (seq 0 C)) = k /\
    forall j, (j < C)%nat -> x (g, j) = (- y)%Z \/ x (g, j) = 0%Z).

(* Positive weights; in each row the largest is less than rho times the smallest. *)
Definition of_range (rho : R) (L C : nat) (w : patch -> patch -> R) : Prop :=
  forall i p q, In i (patches L C) -> In p (patches L C) -> In q (patches L C) -> 0 < w i p /\ w i p < rho * w i q.

Definition has_sign_of_argument (sigma : R -> R) : Prop :=
  (forall f, 0 < f -> 0 < sigma f) /\ (forall f, f < 0 -> sigma f < 0) /\ sigma 0 = 0.

(* What patch i sees of the feature, alpha > 0 being the length of the value vector along it, and the layer's answer. *)
Definition sees (alpha : R) (L C : nat) (w : patch -> patch -> R) (x : image) (i : patch) : R :=
  alpha * sum (fun p => w i p * IZR (x p)) (patches L C).
Definition answer (sigma : R -> R) (alpha : R) (L C : nat) (w : patch -> patch -> R) (x : image) : R :=
  sum (fun i => sigma (sees alpha L C w x i)) (patches L C).

(* Sums *)

Section Sums.
  Context {A : Type}.
  Implicit Types (f g : A -> R) (l : list A).

  Lemma sum_app f l l' : sum f (l ++ l') = sum f l + sum f l'.
  Proof. induction l as [|a l IH]; simpl; [ring|]; rewrite IH; ring. Qed.

  Lemma sum_ext f g l : (forall a, In a l -> f a = g a) -> sum f l = sum g l.
  Proof.
    intros E; induction l as [|a l IH]; simpl; [reflexivity|].
    rewrite (E a), IH; [reflexivity | intros; apply E; right; assumption | left; reflexivity].
  Qed.

  Lemma sum_scaled c f l : sum (fun a => c * f a) l = c * sum f l.
  Proof. induction l as [|a l IH]; simpl; [ring|]; rewrite IH; ring. Qed.

  Lemma sum_constant c l : sum (fun _ => c) l = INR (length l) * c.
  Proof. induction l as [|a l IH]; [simpl; ring|]; simpl sum; simpl length; rewrite S_INR, IH; ring. Qed.

  Lemma sum_positive f l : (forall a, In a l -> 0 < f a) -> l <> [] -> 0 < sum f l.
  Proof.
    intros P; induction l as [|a [|b l] IH]; intros N; [contradiction N; reflexivity| |].
    - simpl; specialize (P a (or_introl eq_refl)); lra.
    - assert (0 < sum f (b :: l)) by (apply IH; [intros; apply P; right; assumption | discriminate]).
      specialize (P a (or_introl eq_refl)); simpl in *; lra.
  Qed.

  Lemma sum_less f g l : (forall a, In a l -> f a < g a) -> l <> [] -> sum f l < sum g l.
  Proof.
    intros P N.
    assert (0 < sum (fun a => g a + -1 * f a) l) by (apply sum_positive; [intros a M; specialize (P a M); lra | exact N]).
    assert (E : sum (fun a => g a + -1 * f a) l = sum g l + -1 * sum f l); [|lra].
    clear; induction l as [|a l IH]; simpl; [ring|]; rewrite IH; ring.
  Qed.

  (* Patches for and against: the others carry nothing. *)
  Lemma for_and_against (v : A -> R) (x : A -> Z) (y : Z) l :
    y <> 0%Z -> (forall a, In a l -> x a = y \/ x a = (- y)%Z \/ x a = 0%Z) ->
    sum (fun a => v a * IZR (x a)) l =
    IZR y * (sum v (filter (fun a => x a =? y)%Z l) - sum v (filter (fun a => x a =? - y)%Z l)).
  Proof.
    intros Y E; induction l as [|a l IH]; [simpl; ring|].
    assert (IH' := IH (fun b M => E b (or_intror M))); clear IH; simpl sum; rewrite IH'; simpl filter.
    destruct (E a (or_introl eq_refl)) as [-> | [-> | ->]].
    - rewrite Z.eqb_refl; destruct (Z.eqb_spec y (- y)); [lia|]; simpl; ring.
    - rewrite Z.eqb_refl; destruct (Z.eqb_spec (- y) y); [lia|]; simpl; rewrite opp_IZR; ring.
    - destruct (Z.eqb_spec 0 y); [lia|]; destruct (Z.eqb_spec 0 (- y)); [lia|]; ring.
  Qed.

  (* The idea: count weights for and against. *)
  Lemma outweighed (v : A -> R) rho P Q :
    (forall p q, In p P -> In q Q -> v p < rho * v q) -> P <> [] -> Q <> [] ->
    INR (length Q) * sum v P < rho * INR (length P) * sum v Q.
  Proof.
    intros B NP NQ.
    assert (one : forall p, In p P -> INR (length Q) * v p < rho * sum v Q).
    { intros p M; rewrite <- sum_constant, <- sum_scaled; apply sum_less; [intros; apply B; assumption | exact NQ]. }
    rewrite <- sum_scaled; replace (rho * INR (length P) * sum v Q) with (INR (length P) * (rho * sum v Q)) by ring.
    rewrite <- sum_constant; apply sum_less; assumption.
  Qed.
End Sums.

(* Counting patches *)

Lemma length_filter_pair (t : patch -> bool) g (js : list nat) :
  length (filter t (map (pair g) js)) = length (filter (fun j => t (g, j)) js).
Proof. induction js as [|j js IH]; simpl; [reflexivity|]; destruct (t (g, j)); simpl; rewrite IH; reflexivity. Qed.

Lemma filter_all {A : Type} (t : A -> bool) l : (forall a, In a l -> t a = true) -> filter t l = l.
Proof.
  intros E; induction l as [|a l IH]; simpl; [reflexivity|].
  rewrite (E a (or_introl eq_refl)), IH; [reflexivity | intros; apply E; right; assumption].
Qed.

Lemma filter_none {A : Type} (t : A -> bool) l : (forall a, In a l -> t a = false) -> filter t l = [].
Proof.
  intros E; induction l as [|a l IH]; simpl; [reflexivity|].
  rewrite (E a (or_introl eq_refl)), IH; [reflexivity | intros; apply E; right; assumption].
Qed.

(* A test that holds k' times in the group `own` and k times in each other one. *)
Lemma count (t : patch -> bool) (C own k' k : nat) (gs : list nat) :
  NoDup gs ->
  (In own gs -> length (filter (fun j => t (own, j)) (seq 0 C)) = k') ->
  (forall g, In g gs -> g <> own -> length (filter (fun j => t (g, j)) (seq 0 C)) = k) ->
  length (filter t (list_prod gs (seq 0 C))) =
  if in_dec Nat.eq_dec own gs then (k' + (length gs - 1) * k)%nat else (length gs * k)%nat.
Proof.
  intros N K' K; induction gs as [|g gs IH]; [reflexivity|].
  inversion N as [|? ? G N']; subst.
  assert (IH' := IH N' (fun M => K' (or_intror M)) (fun h M => K h (or_intror M))); clear IH.
  change (list_prod (g :: gs) (seq 0 C)) with (map (pair g) (seq 0 C) ++ list_prod gs (seq 0 C)).
  rewrite filter_app, app_length, length_filter_pair, IH'.
  destruct (Nat.eq_dec g own) as [->|D].
  - rewrite K' by (left; reflexivity).
    destruct (in_dec Nat.eq_dec own gs); [contradiction|].
    destruct (in_dec Nat.eq_dec own (own :: gs)) as [_|F]; [|contradiction F; left; reflexivity].
    simpl length; rewrite Nat.sub_succ, Nat.sub_0_r; reflexivity.
  - rewrite K by (try (left; reflexivity); exact D).
    destruct (in_dec Nat.eq_dec own gs) as [I|I];
      destruct (in_dec Nat.eq_dec own (g :: gs)) as [J|J]; simpl length.
    + destruct gs as [|h gs]; [inversion I|]; simpl length; lia.
    + contradiction J; right; exact I.
    + destruct J as [J|J]; contradiction.
    + lia.
Qed.

Section Image.
  Variables (L C k own : nat) (y : Z) (x : image).
  Hypothesis X : crowded L C k own y x.

  Lemma in_patches p : In p (patches L C) <-> (fst p < L /\ snd p < C)%nat.
  Proof. destruct p; unfold patches; rewrite in_prod_iff, !in_seq; simpl; lia. Qed.

  Lemma label_not_zero : y <> 0%Z.
  Proof. destruct X as [_ [[-> | ->] _]]; lia. Qed.

  Lemma carries p : In p (patches L C) -> x p = y \/ x p = (- y)%Z \/ x p = 0%Z.
  Proof.
    rewrite in_patches; destruct p as [g j]; simpl; intros [G J]; destruct X as [_ [_ [O E]]].
    destruct (Nat.eq_dec g own) as [->|D]; [left; apply O, J|].
    right; apply (proj2 (E g G D)), J.
  Qed.

  Lemma count_for : length (filter (fun p => x p =? y)%Z (patches L C)) = C.
  Proof.
    pose proof label_not_zero; destruct X as [O [_ [F E]]].
    unfold patches; rewrite (count _ C own C 0 (seq 0 L)).
    - destruct (in_dec Nat.eq_dec own (seq 0 L)) as [_|N]; [lia|]; contradiction N; apply in_seq; lia.
    - apply seq_NoDup.
    - intros _; rewrite filter_all; [apply seq_length|].
      intros j J; apply in_seq in J; apply Z.eqb_eq, F; lia.
    - intros g G D; apply in_seq in G; rewrite filter_none; [reflexivity|].
      intros j J; apply in_seq in J; apply Z.eqb_neq.
      destruct (proj2 (E g ltac:(lia) D) j ltac:(lia)) as [-> | ->]; lia.
  Qed.

  Lemma count_against : length (filter (fun p => x p =? - y)%Z (patches L C)) = ((L - 1) * k)%nat.
  Proof.
    pose proof label_not_zero; destruct X as [O [_ [F E]]].
    unfold patches; rewrite (count _ C own 0 k (seq 0 L)).
    - rewrite seq_length; destruct (in_dec Nat.eq_dec own (seq 0 L)) as [_|N]; [lia|].
      contradiction N; apply in_seq; lia.
    - apply seq_NoDup.
    - intros _; rewrite filter_none; [reflexivity|].
      intros j J; apply in_seq in J; apply Z.eqb_neq; rewrite F by lia; lia.
    - intros g G D; apply in_seq in G; apply (E g); [lia | exact D].
  Qed.

  Lemma no_patch_without_places : (1 <= C)%nat -> patches L C <> [].
  Proof.
    intros P E; assert (I : In (own, 0%nat) (patches L C)) by (apply in_patches; destruct X; simpl; lia).
    rewrite E in I; inversion I.
  Qed.
End Image.

Lemma row_of_range_above_one rho L C w i :
  of_range rho L C w -> In i (patches L C) -> 1 < rho.
Proof.
  intros W I; destruct (W i i i I I I) as [P B].
  apply Rmult_lt_reg_r with (w i i); [exact P|]; lra.
Qed.

Lemma in_range_of_sign (sigma : R -> R) (y : Z) (f : R) :
  has_sign_of_argument sigma -> (y = 1 \/ y = -1)%Z -> 0 < IZR y * f -> 0 < IZR y * sigma f.
Proof.
  intros [P [N _]] [-> | ->] F.
  - specialize (P f); lra.
  - specialize (N f); lra.
Qed.

(* exponential/own-range-any, the claim's first sentence: up to (L - 1) k / C every such image is read wrong. *)
Theorem range_any_misreads (L C k own : nat) (y : Z) (x : image) (sigma : R -> R) (alpha rho : R) (w : patch -> patch -> R) :
  (1 <= k <= C - 1)%nat -> crowded L C k own y x -> has_sign_of_argument sigma -> 0 < alpha ->
  of_range rho L C w -> rho <= INR (L - 1) * INR k / INR C ->
  IZR y * answer sigma alpha L C w x < 0.
Proof.
  intros K X S A W B.
  assert (C0 : 0 < INR C) by (apply lt_0_INR; lia).
  pose proof (no_patch_without_places _ _ _ _ _ _ X ltac:(lia)) as N.
  assert (Y : (- y = 1 \/ - y = -1)%Z) by (destruct X as [_ [[-> | ->] _]]; lia).
  assert (each : forall i, In i (patches L C) -> 0 < IZR (- y) * sigma (sees alpha L C w x i)).
  { intros i I; apply in_range_of_sign; [exact S | exact Y|].
    pose proof (row_of_range_above_one _ _ _ _ _ W I) as R1.
    unfold sees; rewrite (for_and_against (w i) x y) by
      (try exact (label_not_zero _ _ _ _ _ _ X); intros; eapply carries; eassumption).
    set (own_patches := filter (fun a => x a =? y)%Z (patches L C)).
    set (against := filter (fun a => x a =? - y)%Z (patches L C)).
    assert (LO : length own_patches = C) by (eapply count_for; eassumption).
    assert (LA : length against = ((L - 1) * k)%nat) by (eapply count_against; eassumption).
    assert (crowd : 0 < INR (length against)).
    { rewrite LA, mult_INR; apply Rmult_lt_reg_r with (/ INR C); [apply Rinv_0_lt_compat, C0|].
      rewrite Rmult_0_l; apply Rlt_le_trans with rho; [lra | exact B]. }
    assert (NA : against <> []) by (intros E; rewrite E in crowd; simpl in crowd; lra).
    assert (NO : own_patches <> []) by (intros E; rewrite E in LO; simpl in LO; lia).
    assert (PA : 0 < sum (w i) against).
    { apply sum_positive; [|exact NA]; intros p M; apply filter_In in M; apply (W i p p I); tauto. }
    assert (O : INR (length against) * sum (w i) own_patches < rho * INR (length own_patches) * sum (w i) against).
    { apply outweighed; [|exact NO|exact NA]; intros p q P Q; apply filter_In in P, Q; apply (W i p q I); tauto. }
    rewrite LO in O; rewrite LA, mult_INR in O, crowd.
    assert (rho * INR C <= INR (L - 1) * INR k).
    { replace (INR (L - 1) * INR k) with (INR (L - 1) * INR k / INR C * INR C) by (field; lra).
      apply Rmult_le_compat_r; lra. }
    assert (rho * INR C * sum (w i) against <= INR (L - 1) * INR k * sum (w i) against)
      by (apply Rmult_le_compat_r; lra).
    assert (less : sum (w i) own_patches < sum (w i) against)
      by (apply Rmult_lt_reg_l with (INR (L - 1) * INR k); lra).
    rewrite opp_IZR.
    replace (- IZR y * (alpha * (IZR y * (sum (w i) own_patches - sum (w i) against))))
      with (IZR y * IZR y * (alpha * (sum (w i) against - sum (w i) own_patches))) by ring.
    replace (IZR y * IZR y) with 1 by (destruct X as [_ [[-> | ->] _]]; simpl; ring).
    rewrite Rmult_1_l; apply Rmult_lt_0_compat; lra. }
  pose proof (sum_positive _ _ each N) as P; rewrite sum_scaled, opp_IZR in P; unfold answer; lra.
Qed.

(* exponential/own-range-any, the claim's second sentence: above it, and above 1, there are weights that read such an image
   right, and not only one image: each of them, whatever the answer and the length of the value vector; and they sum to 1. *)
Theorem range_any_is_sharp (L C k own : nat) (y : Z) (x : image) (rho : R) :
  (1 <= k <= C - 1)%nat -> crowded L C k own y x -> INR (L - 1) * INR k / INR C < rho -> 1 < rho ->
  exists w, of_range rho L C w /\ (forall i, In i (patches L C) -> sum (w i) (patches L C) = 1) /\
    forall sigma alpha, has_sign_of_argument sigma -> 0 < alpha -> IZR y * answer sigma alpha L C w x > 0.
Proof.
  intros K X B R1.
  assert (C0 : 0 < INR C) by (apply lt_0_INR; lia).
  pose proof (no_patch_without_places _ _ _ _ _ _ X ltac:(lia)) as N.
  set (bound := INR (L - 1) * INR k / INR C) in *.
  set (rho' := (Rmax 1 bound + rho) / 2).
  assert (1 < rho' < rho /\ bound < rho').
  { pose proof (Rmax_l 1 bound); pose proof (Rmax_r 1 bound); pose proof (Rmax_lub_lt 1 bound rho R1 B); unfold rho'; lra. }
  set (v := fun p : patch => if (x p =? y)%Z then rho' else 1).
  assert (V : forall p, v p = rho' \/ v p = 1) by (intros p; unfold v; destruct (x p =? y)%Z; tauto).
  assert (T : 0 < sum v (patches L C)) by (apply sum_positive; [intros p _; destruct (V p); lra | exact N]).
  exists (fun _ p => v p / sum v (patches L C)); split; [|split].
  - intros i p q _ _ _.
    assert (U : 0 < / sum v (patches L C)) by (apply Rinv_0_lt_compat, T).
    split; [apply Rmult_lt_0_compat; [destruct (V p); lra | exact U]|].
    unfold Rdiv; rewrite <- Rmult_assoc; apply Rmult_lt_compat_r; [exact U|].
    assert (rho * 1 <= rho * v q) by (apply Rmult_le_compat_l; [|destruct (V q)]; lra).
    destruct (V p); lra.
  - intros i _; rewrite (sum_ext _ (fun p => / sum v (patches L C) * v p)) by (intros; unfold Rdiv; ring).
    rewrite sum_scaled; field; lra.
  - intros sigma alpha S A; apply Rlt_gt; unfold answer; rewrite <- sum_scaled; apply sum_positive; [|exact N].
    intros i I; apply in_range_of_sign; [exact S | destruct X as [_ [Y _]]; exact Y|].
    unfold sees; rewrite (for_and_against _ x y) by
      (try exact (label_not_zero _ _ _ _ _ _ X); intros; eapply carries; eassumption).
    set (total := sum v (patches L C)) in *.
    rewrite (sum_ext _ (fun _ => rho' / total) (filter (fun a => x a =? y)%Z (patches L C))).
    2: { intros p P; apply filter_In in P; unfold v; rewrite (proj2 P); reflexivity. }
    rewrite (sum_ext _ (fun _ => 1 / total) (filter (fun a => x a =? - y)%Z (patches L C))).
    2: { intros p P; apply filter_In in P; destruct P as [_ P]; apply Z.eqb_eq in P; unfold v; rewrite P.
         pose proof (label_not_zero _ _ _ _ _ _ X); destruct (Z.eqb_spec (- y) y); [lia | reflexivity]. }
    rewrite !sum_constant, (count_for _ _ _ _ _ _ X), (count_against _ _ _ _ _ _ X), mult_INR.
    replace (IZR y * (alpha * (IZR y * (INR C * (rho' / total) - INR (L - 1) * INR k * (1 / total)))))
      with (IZR y * IZR y * (alpha / total * INR C * (rho' - bound))) by (unfold bound; field; lra).
    replace (IZR y * IZR y) with 1 by (destruct X as [_ [[-> | ->] _]]; simpl; ring).
    rewrite Rmult_1_l; repeat apply Rmult_lt_0_compat; try lra; apply Rinv_0_lt_compat, T.
Qed.

(* exponential/own-range-any, the claim's last sentence. *)
Theorem no_weights_of_range_one (L C : nat) (w : patch -> patch -> R) (rho : R) :
  (1 <= L)%nat -> (1 <= C)%nat -> rho <= 1 -> ~ of_range rho L C w.
Proof.
  intros HL HC R1 W.
  assert (I : In (0%nat, 0%nat) (patches L C)) by (apply in_patches; simpl; lia).
  pose proof (row_of_range_above_one _ _ _ _ _ W I); lra.
Qed.

(* There are such images, for either label. *)
Lemma crowded_images_exist (L C k : nat) (y : Z) :
  (1 <= L)%nat -> (k <= C)%nat -> (y = 1 \/ y = -1)%Z ->
  crowded L C k 0 y (fun p => if (fst p =? 0)%nat then y else if (snd p <? k)%nat then (- y)%Z else 0%Z).
Proof.
  intros HL HK Y; repeat split; [lia | exact Y | |].
  - simpl; destruct (Nat.eqb_spec g 0) as [->|_]; [contradiction H0; reflexivity|].
    replace C with (k + (C - k))%nat by lia.
    rewrite seq_app, filter_app, app_length, filter_all, filter_none, seq_length; [simpl; lia | |].
    + intros j J; apply in_seq in J; destruct (Nat.ltb_spec j k); [lia|]; apply Z.eqb_neq; lia.
    + intros j J; apply in_seq in J; destruct (Nat.ltb_spec j k); [|lia]; apply Z.eqb_refl.
  - intros j J; simpl; destruct (Nat.eqb_spec g 0) as [->|_]; [contradiction H0; reflexivity|].
    destruct (Nat.ltb_spec j k); [left | right]; reflexivity.
Qed.

(* exponential/own-range-any, the constants: 16 and 196 patches in groups of four, k = 3. *)
Theorem range_of_16_and_196 : INR (4 - 1) * INR 3 / INR 4 = 225 / 100 /\ INR (49 - 1) * INR 3 / INR 4 = 36.
Proof. rewrite !INR_IZR_INZ; simpl; split; field. Qed.

(* exponential/own-range-any, the constants: the exponential. *)
Theorem range_of_the_exponential (beta width : R) (L C : nat) (s : patch -> patch -> R) :
  0 < beta -> (forall i p q, In i (patches L C) -> In p (patches L C) -> In q (patches L C) -> s i p - s i q < width) ->
  of_range (exp (beta * width)) L C (fun i p => exp (beta * s i p)).
Proof.
  intros B S i p q I P Q; split; [apply exp_pos|].
  rewrite <- exp_plus; apply exp_increasing.
  specialize (S i p q I P Q).
  assert (beta * (s i p - s i q) < beta * width) by (apply Rmult_lt_compat_l; assumption); lra.
Qed.
