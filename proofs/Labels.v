(* Part V, "How much of the exponential?": labels that no layer fits whose weights are a polynomial of the scores. *)
Require Import Reals Lra Lia List Bool.
Import ListNotations.
Open Scope R_scope.

(* A point of the space R^d: its coordinates 0, ..., d - 1. *)
Notation point := (nat -> R).

(* Sums over 0, ..., n - 1 *)

Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S n => sum n f + f n
  end.

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof. intros E; induction n as [|n IH]; simpl; [reflexivity|]; rewrite IH, E; auto with arith. Qed.

Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n as [|n IH]; simpl; [ring|]; rewrite IH; ring. Qed.

Lemma sum_scaled n a f : sum n (fun i => a * f i) = a * sum n f.
Proof. induction n as [|n IH]; simpl; [ring|]; rewrite IH; ring. Qed.

Lemma sum_zero n f : (forall i, (i < n)%nat -> f i = 0) -> sum n f = 0.
Proof. intros E; induction n as [|n IH]; simpl; [reflexivity|]; rewrite IH, E; auto with arith; ring. Qed.

Lemma sum_nonnegative n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof.
  intros P; induction n as [|n IH]; simpl; [lra|].
  assert (0 <= f n) by (apply P; lia); assert (0 <= sum n f) by (apply IH; intros; apply P; lia); lra.
Qed.

Lemma sum_positive n f j : (forall i, (i < n)%nat -> 0 <= f i) -> (j < n)%nat -> 0 < f j -> 0 < sum n f.
Proof.
  intros P J F; induction n as [|n IH]; [lia|]; simpl.
  destruct (Nat.eq_dec j n) as [->|D].
  - assert (0 <= sum n f) by (apply sum_nonnegative; intros; apply P; lia); lra.
  - assert (0 < sum n f) by (apply IH; [intros; apply P |]; lia); specialize (P n ltac:(lia)); lra.
Qed.

Definition inner (d : nat) (w x : point) : R := sum d (fun j => w j * x j).

(* A polynomial of degree at most p in one variable: its value by its coefficients. *)
Definition polynomial (p : nat) (coefficient : nat -> R) (z : R) : R := sum (S p) (fun k => coefficient k * z ^ k).

(* The network with m keys w r and values a r, at the point x. *)
Definition numerator (u : R -> R) (d m : nat) (w : nat -> point) (a : nat -> R) (x : point) : R :=
  sum m (fun r => a r * u (inner d (w r) x)).
Definition denominator (u : R -> R) (d m : nat) (w : nat -> point) (x : point) : R :=
  sum m (fun r => u (inner d (w r) x)).
Definition network u d m w a x : R := INR m * (numerator u d m w a x / denominator u d m w x).

(* It fits the labels in sign, and its weights are positive at these points. *)
Definition fits (u : R -> R) (d n : nat) (x : nat -> point) (y : nat -> R) : Prop :=
  exists m w a,
    (forall r i, (r < m)%nat -> (i < n)%nat -> 0 < u (inner d (w r) (x i))) /\
    forall i, (i < n)%nat -> 0 < y i * network u d m w a (x i).

Definition labels (n : nat) (y : nat -> R) : Prop := forall i, (i < n)%nat -> y i = 1 \/ y i = -1.

Definition on_sphere (d n : nat) (x : nat -> point) : Prop :=
  forall i, (i < n)%nat -> sum d (fun j => x i j * x i j) = 1.

(* Pascal's triangle, and the number of patterns. *)
Fixpoint binom (n k : nat) : nat :=
  match n, k with
  | _, O => 1
  | O, S _ => 0
  | S n, S k => binom n k + binom n (S k)
  end.

(* R(p, d) of the box, d >= 2; for p = 0 its second binomial coefficient is 0. *)
Definition patterns (p d : nat) : nat := binom (p + d - 1) (d - 1) + binom (p + d - 2) (d - 1).

(* Polynomials of degree at most p in the first q coordinates. *)
Inductive poly (q : nat) : nat -> (point -> R) -> Prop :=
  | poly_constant p a : poly q p (fun _ => a)
  | poly_plus p f g : poly q p f -> poly q p g -> poly q p (fun x => f x + g x)
  | poly_scaled p a f : poly q p f -> poly q p (fun x => a * f x)
  | poly_times p j f : (j < q)%nat -> poly q p f -> poly q (S p) (fun x => x j * f x)
  | poly_more p f : poly q p f -> poly q (S p) f.

Lemma poly_le q p p' f : poly q p f -> (p <= p')%nat -> poly q p' f.
Proof. intros P; induction 1; [exact P | apply poly_more; assumption]. Qed.

Lemma poly_sum q p n f : (forall i, (i < n)%nat -> poly q p (f i)) -> poly q p (fun x => sum n (fun i => f i x)).
Proof.
  intros P; induction n as [|n IH]; simpl; [apply poly_constant|].
  apply poly_plus; [apply IH; intros; apply P; lia | apply P; lia].
Qed.

(* The monomials of degree at most p in the first q coordinates. *)
Fixpoint monomials (q : nat) : nat -> list (point -> R) :=
  match q with
  | O => fun _ => [fun _ => 1]
  | S q' => fix of_degree (p : nat) : list (point -> R) :=
      match p with
      | O => [fun _ => 1]
      | S p' => monomials q' (S p') ++ map (fun f x => x q' * f x) (of_degree p')
      end
  end.

Lemma binom_zero n : binom n 0 = 1%nat.
Proof. destruct n; reflexivity. Qed.

Lemma binom_above n k : (n < k)%nat -> binom n k = 0%nat.
Proof. revert k; induction n as [|n IH]; intros [|k] L; simpl; try lia; rewrite !IH by lia; reflexivity. Qed.

Lemma binom_self n : binom n n = 1%nat.
Proof. induction n as [|n IH]; simpl; [reflexivity|]; rewrite IH, binom_above; lia. Qed.

Lemma count_monomials q p : length (monomials q p) = binom (p + q) q.
Proof.
  revert p; induction q as [|q IHq]; intros p; [simpl; rewrite binom_zero; reflexivity|].
  induction p as [|p IHp]; [simpl; rewrite binom_self, binom_above; lia|].
  simpl monomials; rewrite app_length, map_length, IHq.
  change (length (monomials q (S p)) + length (monomials (S q) p) = binom (S p + S q) (S q))%nat ||
    change (binom (S p + q) q + length (monomials (S q) p) = binom (S p + S q) (S q))%nat.
  rewrite IHp; replace (p + S q)%nat with (S p + q)%nat by lia.
  replace (S p + S q)%nat with (S (S p + q)) by lia; reflexivity.
Qed.

(* Every monomial times a coordinate is a monomial of the next degree. *)
Lemma monomials_zero q : monomials q 0 = [fun _ => 1].
Proof. destruct q; reflexivity. Qed.

Lemma monomials_step q p :
  monomials (S q) (S p) = monomials q (S p) ++ map (fun f x => x q * f x) (monomials (S q) p).
Proof. reflexivity. Qed.

Lemma one_is_monomial q p : exists f, In f (monomials q p) /\ forall x, f x = 1.
Proof.
  revert p; induction q as [|q IH]; intros [|p].
  1-3: exists (fun _ => 1); split; [left; reflexivity | reflexivity].
  destruct (IH (S p)) as [f [I E]]; exists f; split; [rewrite monomials_step; apply in_or_app; left; exact I | exact E].
Qed.

Lemma more_monomials q p f : In f (monomials q p) -> exists g, In g (monomials q (S p)) /\ forall x, g x = f x.
Proof.
  revert p f; induction q as [|q IHq]; intros p f I; [exists f; split; [exact I | reflexivity]|].
  revert f I; induction p as [|p IHp]; intros f I.
  - destruct I as [<-|[]]; apply one_is_monomial.
  - rewrite monomials_step in I; apply in_app_or in I; destruct I as [I|I].
    + destruct (IHq _ _ I) as [g [G E]]; exists g; split; [|exact E].
      rewrite monomials_step; apply in_or_app; left; exact G.
    + apply in_map_iff in I; destruct I as [f' [<- I]]; destruct (IHp _ I) as [g [G E]].
      exists (fun x => x q * g x); split; [|intros x; rewrite E; reflexivity].
      rewrite monomials_step; apply in_or_app; right; apply in_map_iff; exists g; split; [reflexivity | exact G].
Qed.

Lemma times_monomial q p j f : (j < q)%nat -> In f (monomials q p) ->
  exists g, In g (monomials q (S p)) /\ forall x, g x = x j * f x.
Proof.
  revert p f; induction q as [|q IHq]; intros p f J I; [lia|].
  destruct (Nat.eq_dec j q) as [->|D].
  { exists (fun x => x q * f x); split; [|reflexivity].
    rewrite monomials_step; apply in_or_app; right; apply in_map_iff; exists f; split; [reflexivity | exact I]. }
  assert (J' : (j < q)%nat) by lia.
  revert f I; induction p as [|p IHp]; intros f I.
  - destruct I as [<-|[]].
    destruct (IHq 0%nat (fun _ => 1) J') as [g [G E]]; [rewrite monomials_zero; left; reflexivity|].
    exists g; split; [rewrite monomials_step; apply in_or_app; left; exact G | exact E].
  - rewrite monomials_step in I; apply in_app_or in I; destruct I as [I|I].
    + destruct (IHq _ _ J' I) as [g [G E]]; exists g; split; [|exact E].
      rewrite monomials_step; apply in_or_app; left; exact G.
    + apply in_map_iff in I; destruct I as [f' [<- I]]; destruct (IHp _ I) as [g [G E]].
      exists (fun x => x q * g x); split; [|intros x; rewrite E; ring].
      rewrite monomials_step; apply in_or_app; right; apply in_map_iff; exists g; split; [reflexivity | exact G].
Qed.


(* Linear combinations of a list of functions *)

Section Combinations.
  Context {X : Type}.
  Implicit Types (l : list (X -> R)) (f g h t : X -> R).

  Inductive combination l : (X -> R) -> Prop :=
    | combination_zero f : (forall x, f x = 0) -> combination l f
    | combination_plus a g f h : In g l -> combination l f -> (forall x, h x = a * g x + f x) -> combination l h.

  Lemma combination_ext l f g : combination l f -> (forall x, g x = f x) -> combination l g.
  Proof.
    intros C E; destruct C as [f Z | a m f' f M C H].
    - apply combination_zero; intros; rewrite E; apply Z.
    - apply (combination_plus l a m f' g M C); intros; rewrite E; apply H.
  Qed.

  Lemma combination_sum l f g : combination l f -> combination l g -> combination l (fun x => f x + g x).
  Proof.
    intros F G; induction F as [f Z | a m f' f M C IH H].
    - apply (combination_ext l g); [exact G|]; intros; rewrite Z; ring.
    - apply (combination_plus l a m (fun x => f' x + g x)); [exact M | exact IH | intros; rewrite H; ring].
  Qed.

  Lemma combination_scaled l a f : combination l f -> combination l (fun x => a * f x).
  Proof.
    intros F; induction F as [f Z | b m f' f M C IH H].
    - apply combination_zero; intros; rewrite Z; ring.
    - apply (combination_plus l (a * b) m (fun x => a * f' x)); [exact M | exact IH | intros; rewrite H; ring].
  Qed.

  Lemma combination_member l f g : In g l -> (forall x, f x = g x) -> combination l f.
  Proof.
    intros M E; apply (combination_plus l 1 g (fun _ => 0)); [exact M | apply combination_zero; reflexivity |].
    intros; rewrite E; ring.
  Qed.

  (* If the members of l, times t, are members of l'. *)
  Lemma combination_image l l' t f :
    (forall g, In g l -> exists g', In g' l' /\ forall x, g' x = t x * g x) ->
    combination l f -> combination l' (fun x => t x * f x).
  Proof.
    intros T F; induction F as [f Z | a m f' f M C IH H].
    - apply combination_zero; intros; rewrite Z; ring.
    - destruct (T m M) as [m' [M' E]].
      apply (combination_plus l' a m' (fun x => t x * f' x)); [exact M' | exact IH | intros; rewrite H, E; ring].
  Qed.
End Combinations.

Lemma poly_combination q p f : poly q p f -> combination (monomials q p) f.
Proof.
  induction 1 as [p a | p f g _ F _ G | p a f _ F | p j f J _ F | p f _ F].
  - destruct (one_is_monomial q p) as [m [M E]].
    apply (combination_plus _ a m (fun _ => 0)); [exact M | apply combination_zero; reflexivity | intros; rewrite E; ring].
  - apply combination_sum; assumption.
  - apply combination_scaled, F.
  - apply (combination_image (monomials q p)); [intros g M; apply times_monomial; assumption | exact F].
  - apply (combination_ext _ (fun x => 1 * f x)); [|intros; ring].
    apply (combination_image (monomials q p) _ (fun _ => 1)); [|exact F].
    intros g M; destruct (more_monomials q p g M) as [g' [M' E]]; exists g'; split; [exact M' | intros; rewrite E; ring].
Qed.

Lemma monomial_poly q p f : In f (monomials q p) -> poly q p f.
Proof.
  assert (W : forall q p g, poly q p g -> poly (S q) p g).
  { induction 1; [apply poly_constant | apply poly_plus | apply poly_scaled | apply poly_times | apply poly_more];
      try assumption; lia. }
  revert p f; induction q as [|q IHq]; intros p f I.
  - destruct I as [<-|[]]; apply poly_constant.
  - revert f I; induction p as [|p IHp]; intros f I.
    + destruct I as [<-|[]]; apply poly_constant.
    + rewrite monomials_step in I; apply in_app_or in I; destruct I as [I|I]; [apply W, IHq, I|].
      apply in_map_iff in I; destruct I as [f' [<- I]]; apply poly_times; [lia | apply IHp, I].
Qed.

(* On the sphere the last coordinate is needed to the powers 0 and 1 only: R(p, d) patterns. *)
Definition sphere_patterns (p d : nat) : list (point -> R) :=
  monomials (d - 1) p ++
  match p with
  | O => []
  | S p => map (fun f x => x (d - 1)%nat * f x) (monomials (d - 1) p)
  end.

Lemma count_patterns p d : (2 <= d)%nat -> length (sphere_patterns p d) = patterns p d.
Proof.
  intros D; unfold sphere_patterns, patterns; rewrite app_length, count_monomials.
  replace (p + (d - 1))%nat with (p + d - 1)%nat by lia; f_equal.
  destruct p as [|p]; [simpl; rewrite binom_above; lia|].
  rewrite map_length, count_monomials; f_equal; lia.
Qed.

Section Sphere.
  Variables (d p : nat).
  Hypothesis dimension : (2 <= d)%nat.

  Let q := (d - 1)%nat.
  Let unit (x : point) := sum d (fun j => x j * x j) = 1.

  (* On the sphere it is a combination of the patterns. *)
  Definition patterned (f : point -> R) : Prop :=
    exists g, combination (sphere_patterns p d) g /\ forall x, unit x -> f x = g x.

  Lemma patterned_ext f g : patterned f -> (forall x, unit x -> g x = f x) -> patterned g.
  Proof. intros [h [C H]] E; exists h; split; [exact C | intros x U; rewrite E, H by exact U; reflexivity]. Qed.

  Lemma patterned_product l t f :
    (forall g, In g l -> patterned (fun z => t z * g z)) -> combination l f -> patterned (fun z => t z * f z).
  Proof.
    intros V F; induction F as [f Z | a m f' f M C [g' [C' H']] H].
    - exists (fun _ => 0); split; [apply combination_zero; reflexivity | intros; rewrite Z; ring].
    - destruct (V m M) as [g [G E]]; exists (fun z => a * g z + g' z); split.
      + apply combination_sum; [apply combination_scaled, G | exact C'].
      + intros z U; rewrite H, <- E, <- H' by exact U; ring.
  Qed.

  Lemma last_square x : unit x -> x q * x q = 1 - sum q (fun j => x j * x j).
  Proof. unfold unit; intros U; replace d with (S q) in U by (unfold q; lia); simpl in U; lra. Qed.

  (* Powers of the last coordinate, times a polynomial in the others. *)
  Lemma power_patterned e : forall g, (e <= p)%nat -> poly q (p - e) g -> patterned (fun z => z q ^ e * g z).
  Proof.
    enough (both : forall e, (forall g, (e <= p)%nat -> poly q (p - e) g -> patterned (fun z => z q ^ e * g z)) /\
                             (forall g, (S e <= p)%nat -> poly q (p - S e) g -> patterned (fun z => z q ^ S e * g z)))
      by (apply (both e)).
    clear e; induction e as [|e [IH0 IH1]]; split.
    - intros g _ P; rewrite Nat.sub_0_r in P.
      apply (patterned_product (monomials q p)); [|apply poly_combination, P].
      intros m M; exists m; split; [|intros; simpl; ring].
      apply (combination_member _ m m); [|reflexivity]; unfold sphere_patterns; apply in_or_app; left; exact M.
    - intros g E P; apply (patterned_product (monomials q (p - 1))); [|apply poly_combination, P].
      intros m M; exists (fun z => z q * m z); split; [|intros; simpl; ring].
      apply (combination_member _ _ (fun z => z q * m z)); [|reflexivity].
      unfold sphere_patterns; apply in_or_app; right.
      destruct p as [|p']; [lia|]; apply in_map_iff; exists m; split; [reflexivity|].
      replace (S p' - 1)%nat with p' in M by lia; exact M.
    - exact IH1.
    - intros g E P.
      apply (patterned_ext (fun z => z q ^ e * (g z + -1 * sum q (fun j => z j * (z j * g z))))).
      + apply IH0; [lia|]; apply poly_plus; [apply (poly_le q (p - S (S e))); [exact P | lia]|].
        apply poly_scaled, poly_sum; intros j J.
        replace (p - e)%nat with (S (S (p - S (S e)))) by lia.
        apply (poly_times q _ j (fun z => z j * g z)); [exact J|]; apply poly_times; assumption.
      + intros z U; rewrite <- (sum_ext _ (fun j => g z * (z j * z j))) by (intros; ring).
        rewrite sum_scaled; simpl.
        replace (z q * (z q * z q ^ e) * g z) with (z q ^ e * (z q * z q) * g z) by ring.
        rewrite last_square by exact U; ring.
  Qed.

  Lemma polynomial_patterned f : poly d p f -> patterned f.
  Proof.
    intros P; replace d with (S q) in P by (unfold q; lia).
    assert (M : forall p' e m, (e + p' <= p)%nat -> In m (monomials (S q) p') -> patterned (fun z => z q ^ e * m z)).
    { induction p' as [|p' IH]; intros e m E I.
      - destruct I as [<-|[]]; apply power_patterned; [lia | apply poly_constant].
      - rewrite monomials_step in I; apply in_app_or in I; destruct I as [I|I].
        + apply power_patterned; [lia|]; apply (poly_le q (S p')); [apply monomial_poly, I | lia].
        + apply in_map_iff in I; destruct I as [m' [<- I]].
          apply (patterned_ext (fun z => z q ^ S e * m' z)); [apply IH; [lia | exact I] | intros; simpl; ring]. }
    apply (patterned_ext (fun z => 1 * f z)); [|intros; ring].
    apply (patterned_product (monomials (S q) p)); [|apply poly_combination, P].
    intros m I; apply (patterned_ext (fun z => z q ^ 0 * m z)); [|intros; simpl; ring].
    apply (M p 0%nat); [lia | exact I].
  Qed.
End Sphere.

(* Numerators are polynomials of degree at most p. *)
Lemma inner_power_poly d w k : poly d k (fun x => inner d w x ^ k).
Proof.
  induction k as [|k IH]; [exact (poly_constant d 0 1)|].
  enough (P : forall d', (d' <= d)%nat -> poly d (S k) (fun x => sum d' (fun j => w j * x j) * inner d w x ^ k))
    by (apply (P d); lia).
  induction d' as [|d' IH']; intros L; simpl; [apply poly_scaled, poly_more, IH|].
  replace (fun x : point => (sum d' (fun j => w j * x j) + w d' * x d') * inner d w x ^ k)
    with (fun x : point => sum d' (fun j => w j * x j) * inner d w x ^ k + w d' * (x d' * inner d w x ^ k)).
  - apply poly_plus; [apply IH'; lia|]; apply poly_scaled, poly_times; [lia | exact IH].
  - apply FunctionalExtensionality.functional_extensionality; intros z; ring.
Qed.

Lemma numerator_poly p coefficient d m w a : poly d p (numerator (polynomial p coefficient) d m w a).
Proof.
  apply (poly_sum d p m (fun r z => a r * polynomial p coefficient (inner d (w r) z))); intros r _; apply poly_scaled.
  apply (poly_sum d p (S p) (fun k z => coefficient k * inner d (w r) z ^ k)); intros k K.
  apply poly_scaled, (poly_le d k); [apply inner_power_poly | lia].
Qed.

(* Some labels are fitted: equal ones, by a single key, if u(0) > 0. *)
Lemma equal_labels_fitted p coefficient d n x : 0 < coefficient 0%nat -> fits (polynomial p coefficient) d n x (fun _ => 1).
Proof.
  intros P; assert (Z : forall z, inner d (fun _ => 0) z = 0) by (intros; apply sum_zero; intros; ring).
  assert (V : polynomial p coefficient 0 = coefficient 0%nat).
  { unfold polynomial; clear; induction p as [|p IH]; [simpl; ring|].
    change (sum (S p) (fun k => coefficient k * 0 ^ k) + coefficient (S p) * 0 ^ S p = coefficient 0%nat).
    rewrite IH; simpl; ring. }
  exists 1%nat, (fun _ _ => 0), (fun _ => 1); split; [intros; rewrite Z, V; exact P|].
  intros i _; unfold network, numerator, denominator; simpl; rewrite Z, V.
  replace (1 * (1 * ((0 + 1 * coefficient 0%nat) / (0 + coefficient 0%nat)))) with 1 by (field; lra); lra.
Qed.

(* The sign of the network is that of its numerator. *)
Lemma sign_of_numerator u d n x y : fits u d n x y ->
  exists m w a, forall i, (i < n)%nat -> 0 < y i * numerator u d m w a (x i).
Proof.
  intros [m [w [a [P F]]]]; exists m, w, a; intros i I; specialize (F i I); unfold network in F.
  destruct m as [|m]; [simpl in F; lra|].
  assert (D : 0 < denominator u d (S m) w (x i)).
  { apply (sum_positive _ _ 0); [intros r Hr; apply Rlt_le, P; assumption | lia | apply P; lia]. }
  apply Rmult_lt_reg_r with (INR (S m) / denominator u d (S m) w (x i)).
  - apply Rdiv_lt_0_compat; [apply lt_0_INR; lia | exact D].
  - rewrite Rmult_0_l.
    replace (y i * numerator u d (S m) w a (x i) * (INR (S m) / denominator u d (S m) w (x i)))
      with (y i * (INR (S m) * (numerator u d (S m) w a (x i) / denominator u d (S m) w (x i)))) by (field; lra).
    exact F.
Qed.

(* A relation: a weighted sum that is 0 for all of fewer than n vectors of n numbers. *)
Lemma all_zero_or_not (l : list (nat -> R)) i :
  (forall v, In v l -> v i = 0) \/ exists l1 v l2, l = l1 ++ v :: l2 /\ v i <> 0.
Proof.
  induction l as [|v l [Z | [l1 [v' [l2 [-> N]]]]]]; [left; intros v []| |].
  - destruct (Req_dec (v i) 0) as [V|V].
    + left; intros v' [<-|I]; [exact V | apply Z, I].
    + right; exists [], v, l; split; [reflexivity | exact V].
  - right; exists (v :: l1), v', l2; split; [reflexivity | exact N].
Qed.

Lemma relation_exists n : forall l : list (nat -> R), (length l < n)%nat ->
  exists c, (exists j, (j < n)%nat /\ c j <> 0) /\ forall v, In v l -> sum n (fun i => c i * v i) = 0.
Proof.
  induction n as [|n IH]; intros l L; [lia|].
  destruct (all_zero_or_not l n) as [Z | [l1 [v [l2 [-> N]]]]].
  - exists (fun i => if Nat.eq_dec i n then 1 else 0); split.
    + exists n; split; [lia|]; destruct (Nat.eq_dec n n); [lra | lia].
    + intros v I; simpl; destruct (Nat.eq_dec n n) as [_|F]; [|lia]; rewrite (Z v I), sum_zero; [ring|].
      intros i In; destruct (Nat.eq_dec i n); [lia | ring].
  - set (without := fun r : nat -> R => fun i => r i - r n / v n * v i).
    rewrite app_length in L; simpl in L.
    destruct (IH (map without (l1 ++ l2))) as [c [[j [J C]] E]]; [rewrite map_length, app_length; lia|].
    set (last := - sum n (fun i => c i * v i) / v n).
    set (c' := fun i => if Nat.eq_dec i n then last else c i).
    assert (first : forall f, sum n (fun i => c' i * f i) = sum n (fun i => c i * f i)).
    { intros f; apply sum_ext; intros i I; unfold c'; destruct (Nat.eq_dec i n); [lia | reflexivity]. }
    assert (at_n : c' n = last) by (unfold c'; destruct (Nat.eq_dec n n); [reflexivity | lia]).
    assert (V : sum (S n) (fun i => c' i * v i) = 0) by (simpl; rewrite first, at_n; unfold last; field; exact N).
    exists c'; split; [exists j; split; [lia|]; unfold c'; destruct (Nat.eq_dec j n); [lia | exact C]|].
    intros r I; apply in_app_or in I; simpl in I.
    assert (I' : r = v \/ In r (l1 ++ l2)) by (destruct I as [I|[->|I]]; [right | left | right]; auto using in_or_app).
    destruct I' as [->|I']; [exact V|].
    assert (W : sum n (fun i => c i * without r i) = 0) by (apply E, in_map, I').
    rewrite (sum_ext _ _ (fun i => c' i * without r i + r n / v n * (c' i * v i)))
      by (intros; unfold without; field; exact N).
    rewrite sum_plus, sum_scaled, V; simpl; rewrite first, W; unfold without; field; exact N.
Qed.

Lemma relation_combination n c l f :
  (forall v : nat -> R, In v l -> sum n (fun i => c i * v i) = 0) -> combination l f -> sum n (fun i => c i * f i) = 0.
Proof.
  intros E F; induction F as [f Z | a v f' f M C IH H].
  - apply sum_zero; intros; rewrite Z; ring.
  - rewrite (sum_ext _ _ (fun i => a * (c i * v i) + c i * f' i)) by (intros; rewrite H; ring).
    rewrite sum_plus, sum_scaled, (E v M), IH; ring.
Qed.

(* Values at the points, of patterns and of what they combine to. *)
Definition values (x : nat -> point) (l : list (point -> R)) : list (nat -> R) := map (fun f i => f (x i)) l.

Lemma combination_values x l f : combination l f -> combination (values x l) (fun i => f (x i)).
Proof.
  intros F; induction F as [f Z | a v f' f M C IH H].
  - apply combination_zero; intros; apply Z.
  - apply (combination_plus _ a (fun i => v (x i)) (fun i => f' (x i))); [|exact IH | intros; apply H].
    unfold values; apply in_map_iff; exists v; split; [reflexivity | exact M].
Qed.

(* What a fit leaves: a combination of R vectors of n numbers that has these signs. *)
Lemma fit_has_signs p coefficient d n x y :
  (2 <= d)%nat -> on_sphere d n x -> fits (polynomial p coefficient) d n x y ->
  exists v, combination (values x (sphere_patterns p d)) v /\ forall i, (i < n)%nat -> 0 < y i * v i.
Proof.
  intros D S F; destruct (sign_of_numerator _ _ _ _ _ F) as [m [w [a N]]].
  destruct (polynomial_patterned d p D _ (numerator_poly p coefficient d m w a)) as [g [G E]].
  exists (fun i => g (x i)); split; [apply combination_values, G|].
  intros i I; rewrite <- E by (apply S, I); apply N, I.
Qed.

(* exponential/own-labels, the claim's first sentence: there are labels that no network fits. *)
Theorem labels_out_of_reach (p d n : nat) (coefficient : nat -> R) (x : nat -> point) :
  (2 <= d)%nat -> on_sphere d n x -> (patterns p d < n)%nat ->
  exists y, labels n y /\ ~ fits (polynomial p coefficient) d n x y.
Proof.
  intros D S N.
  destruct (relation_exists n (values x (sphere_patterns p d))) as [c [[j [J C]] E]].
  { unfold values; rewrite map_length, count_patterns by exact D; exact N. }
  exists (fun i => if Rle_dec 0 (c i) then 1 else -1); split.
  - intros i _; destruct (Rle_dec 0 (c i)); tauto.
  - intros F; destruct (fit_has_signs _ _ _ _ _ _ D S F) as [v [V P]].
    pose proof (relation_combination n c _ v E V) as Z.
    assert (0 < sum n (fun i => c i * v i)); [|lra].
    apply (sum_positive _ _ j); [|exact J|].
    + intros i I; specialize (P i I); destruct (Rle_dec 0 (c i)) as [G|G]; [apply Rmult_le_pos; lra|].
      replace (c i * v i) with ((- c i) * (- v i)) by ring; apply Rmult_le_pos; lra.
    + specialize (P j J); destruct (Rle_dec 0 (c j)) as [G|G]; [apply Rmult_lt_0_compat; lra|].
      replace (c j * v j) with ((- c j) * (- v j)) by ring; apply Rmult_lt_0_compat; lra.
Qed.

(* On the circle: the alternating sum of a wave of at most p periods at 2p + 2 equally spaced points is 0. *)
Section Circle.
  Variables (p : nat) (start : R).

  Let h := PI / (2 * INR (S p)).
  Definition angle (i : nat) : R := start + 2 * PI * INR i / INR (2 * p + 2).
  Definition on_circle (i : nat) : point := fun j => match j with O => cos (angle i) | _ => sin (angle i) end.
  Definition alternating (i : nat) : R := (-1) ^ i.

  Lemma INR_positive : 0 < INR (S p).
  Proof. apply lt_0_INR; lia. Qed.

  Lemma INR_twice : INR (2 * p + 2) = 2 * INR (S p).
  Proof. replace (2 * p + 2)%nat with (2 * S p)%nat by lia; rewrite mult_INR; simpl (INR 2); ring. Qed.

  Lemma angle_step i : angle (S i) = angle i + 2 * h.
  Proof. unfold angle, h; rewrite INR_twice, S_INR; field; apply Rgt_not_eq, INR_positive. Qed.

  Lemma angle_round : angle (2 * p + 2) = angle 0 + 2 * PI.
  Proof. unfold angle; rewrite INR_twice; simpl (INR 0); field; apply Rgt_not_eq, INR_positive. Qed.

  Lemma slow_wave (k : Z) : (Z.abs k <= Z.of_nat p)%Z -> 0 < cos (IZR k * h).
  Proof.
    intros K; pose proof PI_RGT_0 as P; pose proof INR_positive as N.
    assert (B : - INR p <= IZR k <= INR p) by (rewrite INR_IZR_INZ, <- opp_IZR; split; apply IZR_le; lia).
    assert (H : 0 < h) by (apply Rdiv_lt_0_compat; lra).
    assert (Q : INR (S p) * h = PI / 2) by (unfold h; field; lra).
    rewrite S_INR in Q.
    assert (- INR p * h <= IZR k * h <= INR p * h) by (split; apply Rmult_le_compat_r; lra).
    apply cos_gt_0; lra.
  Qed.

  Lemma whole_turns (f : R -> R) (k : Z) t : (forall z j, f (z + 2 * INR j * PI) = f z) -> f (t + IZR k * (2 * PI)) = f t.
  Proof.
    intros F; destruct (Z_le_gt_dec 0 k).
    - rewrite <- (F t (Z.to_nat k)), INR_IZR_INZ, Z2Nat.id by assumption; f_equal; ring.
    - rewrite <- (F (t + IZR k * (2 * PI)) (Z.to_nat (- k))), INR_IZR_INZ, Z2Nat.id, opp_IZR by lia; f_equal; ring.
  Qed.

  (* f is the sine or the cosine. *)
  Lemma alternating_sum (f : R -> R) (k : Z) :
    (forall z j, f (z + 2 * INR j * PI) = f z) -> (forall s t, f (s - t) + f (s + t) = 2 * (f s * cos t)) ->
    (Z.abs k <= Z.of_nat p)%Z -> sum (2 * p + 2) (fun i => alternating i * f (IZR k * angle i)) = 0.
  Proof.
    intros F T K; pose proof (slow_wave k K) as C.
    assert (telescope : forall n, 2 * cos (IZR k * h) * sum n (fun i => alternating i * f (IZR k * angle i)) =
      f (IZR k * angle 0 - IZR k * h) - alternating n * f (IZR k * angle n - IZR k * h)).
    { induction n as [|n IH]; [unfold alternating; simpl; ring|].
      simpl sum; rewrite Rmult_plus_distr_l, IH, angle_step; unfold alternating.
      replace (IZR k * (angle n + 2 * h) - IZR k * h) with (IZR k * angle n + IZR k * h) by ring.
      replace (f (IZR k * angle n + IZR k * h))
        with (2 * (f (IZR k * angle n) * cos (IZR k * h)) - f (IZR k * angle n - IZR k * h)) by (rewrite <- T; ring).
      simpl; ring. }
    pose proof (telescope (2 * p + 2)%nat) as E; rewrite angle_round in E.
    replace (IZR k * (angle 0 + 2 * PI) - IZR k * h) with (IZR k * angle 0 - IZR k * h + IZR k * (2 * PI)) in E by ring.
    rewrite (whole_turns f k _ F) in E.
    replace (alternating (2 * p + 2)) with 1 in E
      by (unfold alternating; replace (2 * p + 2)%nat with (2 * S p)%nat by lia; rewrite pow_1_even; reflexivity).
    apply Rmult_eq_reg_l with (2 * cos (IZR k * h)); [rewrite E; ring | lra].
  Qed.

  Lemma waves_vanish q f : poly 2 q f -> forall k : Z, (Z.abs k + Z.of_nat q <= Z.of_nat p)%Z ->
    sum (2 * p + 2) (fun i => alternating i * (cos (IZR k * angle i) * f (on_circle i))) = 0 /\
    sum (2 * p + 2) (fun i => alternating i * (sin (IZR k * angle i) * f (on_circle i))) = 0.
  Proof.
    induction 1 as [q a | q f g _ F _ G | q a f _ F | q j f J _ F | q f _ F]; intros k K.
    - assert (K' : (Z.abs k <= Z.of_nat p)%Z) by lia.
      split;
        [ rewrite (sum_ext _ _ (fun i => a * (alternating i * cos (IZR k * angle i)))) by (intros; ring)
        | rewrite (sum_ext _ _ (fun i => a * (alternating i * sin (IZR k * angle i)))) by (intros; ring) ];
        rewrite sum_scaled, alternating_sum; try ring; try exact K'.
      + exact cos_period.
      + intros s t; rewrite cos_minus, cos_plus; ring.
      + exact sin_period.
      + intros s t; rewrite sin_minus, sin_plus; ring.
    - destruct (F k K) as [F1 F2], (G k K) as [G1 G2]; split.
      + rewrite (sum_ext _ _ (fun i => alternating i * (cos (IZR k * angle i) * f (on_circle i)) +
          alternating i * (cos (IZR k * angle i) * g (on_circle i)))) by (intros; ring).
        rewrite sum_plus, F1, G1; ring.
      + rewrite (sum_ext _ _ (fun i => alternating i * (sin (IZR k * angle i) * f (on_circle i)) +
          alternating i * (sin (IZR k * angle i) * g (on_circle i)))) by (intros; ring).
        rewrite sum_plus, F2, G2; ring.
    - destruct (F k K) as [F1 F2]; split.
      + rewrite (sum_ext _ _ (fun i => a * (alternating i * (cos (IZR k * angle i) * f (on_circle i))))) by (intros; ring).
        rewrite sum_scaled, F1; ring.
      + rewrite (sum_ext _ _ (fun i => a * (alternating i * (sin (IZR k * angle i) * f (on_circle i))))) by (intros; ring).
        rewrite sum_scaled, F2; ring.
    - destruct (F (k + 1)%Z ltac:(lia)) as [U1 U2], (F (k - 1)%Z ltac:(lia)) as [D1 D2].
      assert (U : forall i, IZR (k + 1) * angle i = IZR k * angle i + angle i) by (intros; rewrite plus_IZR; ring).
      assert (D : forall i, IZR (k - 1) * angle i = IZR k * angle i - angle i) by (intros; rewrite minus_IZR; ring).
      destruct j as [|j]; simpl on_circle; split.
      + rewrite (sum_ext _ _ (fun i => / 2 * (alternating i * (cos (IZR (k + 1) * angle i) * f (on_circle i))) +
          / 2 * (alternating i * (cos (IZR (k - 1) * angle i) * f (on_circle i)))))
          by (intros; rewrite U, D, cos_plus, cos_minus; field).
        rewrite sum_plus, !sum_scaled, U1, D1; ring.
      + rewrite (sum_ext _ _ (fun i => / 2 * (alternating i * (sin (IZR (k + 1) * angle i) * f (on_circle i))) +
          / 2 * (alternating i * (sin (IZR (k - 1) * angle i) * f (on_circle i)))))
          by (intros; rewrite U, D, sin_plus, sin_minus; field).
        rewrite sum_plus, !sum_scaled, U2, D2; ring.
      + rewrite (sum_ext _ _ (fun i => / 2 * (alternating i * (sin (IZR (k + 1) * angle i) * f (on_circle i))) +
          - / 2 * (alternating i * (sin (IZR (k - 1) * angle i) * f (on_circle i)))))
          by (intros; rewrite U, D, sin_plus, sin_minus; field).
        rewrite sum_plus, !sum_scaled, U2, D2; ring.
      + rewrite (sum_ext _ _ (fun i => - / 2 * (alternating i * (cos (IZR (k + 1) * angle i) * f (on_circle i))) +
          / 2 * (alternating i * (cos (IZR (k - 1) * angle i) * f (on_circle i)))))
          by (intros; rewrite U, D, cos_plus, cos_minus; field).
        rewrite sum_plus, !sum_scaled, U1, D1; ring.
    - apply F; lia.
  Qed.

  (* exponential/own-labels, the claim's second sentence. *)
  Theorem alternating_labels_out_of_reach (coefficient : nat -> R) :
    ~ fits (polynomial p coefficient) 2 (2 * p + 2) on_circle alternating.
  Proof.
    intros F; destruct (sign_of_numerator _ _ _ _ _ F) as [m [w [a N]]].
    destruct (waves_vanish p _ (numerator_poly p coefficient 2 m w a) 0%Z ltac:(simpl; lia)) as [Z _].
    assert (0 < sum (2 * p + 2) (fun i =>
      alternating i * (cos (0 * angle i) * numerator (polynomial p coefficient) 2 m w a (on_circle i)))); [|lra].
    assert (P : forall i, (i < 2 * p + 2)%nat -> 0 <
      alternating i * (cos (0 * angle i) * numerator (polynomial p coefficient) 2 m w a (on_circle i)))
      by (intros i I; rewrite Rmult_0_l, cos_0, Rmult_1_l; apply N, I).
    apply (sum_positive _ _ 0); [intros; apply Rlt_le, P; assumption | lia | apply P; lia].
  Qed.
End Circle.

(* Cover's count (1965) *)

(* A labelling as a list: true stands for 1, false for -1. *)
Definition labelling (y : list bool) (i : nat) : R := if nth i y true then 1 else -1.

(* The sum of binom n k over k < r. *)
Fixpoint binom_sum (n r : nat) : nat :=
  match r with
  | O => 0
  | S r => binom_sum n r + binom n r
  end.

Lemma binom_sum_step n r : binom_sum (S n) (S r) = (binom_sum n (S r) + binom_sum n r)%nat.
Proof. induction r as [|r IH]; [simpl; rewrite binom_zero; lia|]; simpl in *; lia. Qed.

Lemma binom_sum_positive n r : (1 <= binom_sum n (S r))%nat.
Proof. induction r as [|r IH]; simpl in *; [rewrite binom_zero; lia | lia]. Qed.

(* Two numbers of patterns that make n + 1 together count all subsets once. *)
Lemma binom_sums n : forall a b, (a + b = S n)%nat -> (binom_sum n a + binom_sum n b = 2 ^ n)%nat.
Proof.
  assert (last : forall n, binom_sum n (S (S n)) = binom_sum n (S n)).
  { intros m; change (binom_sum m (S m) + binom m (S m) = binom_sum m (S m))%nat; rewrite binom_above; lia. }
  induction n as [|n IH]; intros a b E.
  - destruct a as [|[|a]]; [replace b with 1%nat by lia | replace b with 0%nat by lia | lia]; reflexivity.
  - assert (whole : binom_sum n (S n) = (2 ^ n)%nat) by (rewrite <- (IH 0%nat (S n)); reflexivity).
    destruct a as [|a], b as [|b]; [lia | | |].
    + replace b with (S n) by lia; rewrite binom_sum_step, last, whole; simpl; lia.
    + replace a with (S n) by lia; rewrite binom_sum_step, last, whole; simpl; lia.
    + rewrite !binom_sum_step; pose proof (IH a (S b) ltac:(lia)); pose proof (IH (S a) b ltac:(lia)).
      rewrite Nat.pow_succ_r'; lia.
Qed.

(* The labellings that go on after a first label. *)
Fixpoint after (b : bool) (ls : list (list bool)) : list (list bool) :=
  match ls with
  | (b' :: t) :: ls => if Bool.eqb b' b then t :: after b ls else after b ls
  | [] :: ls => after b ls
  | [] => []
  end.

Lemma in_after b ls t : In t (after b ls) <-> In (b :: t) ls.
Proof.
  induction ls as [|[|b' t'] ls IH]; simpl; [tauto | rewrite IH; split; [tauto | intros [H|H]; [discriminate | exact H]] |].
  destruct (Bool.eqb b' b) eqn:E; simpl; rewrite IH.
  - apply eqb_prop in E; subst; split; intros [H|H]; try (right; exact H); left; [subst; reflexivity | congruence].
  - apply eqb_false_iff in E; split; [tauto | intros [H|H]; [congruence | exact H]].
Qed.

Lemma nodup_after b ls : NoDup ls -> NoDup (after b ls).
Proof.
  induction 1 as [|[|b' t] ls N D IH]; simpl; [constructor | exact IH |].
  destruct (Bool.eqb b' b) eqn:E; [|exact IH]; apply eqb_prop in E; subst.
  constructor; [rewrite in_after; exact N | exact IH].
Qed.

Lemma length_after ls : (forall y, In y ls -> y <> []) ->
  length ls = (length (after true ls) + length (after false ls))%nat.
Proof.
  induction ls as [|[|b t] ls IH]; intros H; [reflexivity | contradiction (H []); [left|]; reflexivity |].
  simpl length; rewrite IH by (intros; apply H; right; assumption); destruct b; simpl; lia.
Qed.

Lemma nodup_app {A : Type} (l l' : list A) : NoDup l -> NoDup l' -> (forall a, In a l -> ~ In a l') -> NoDup (l ++ l').
Proof.
  intros N N'; induction N as [|a l M N IH]; intros H; simpl; [exact N'|].
  constructor; [|apply IH; intros; apply H; right; assumption].
  intros I; apply in_app_or in I; destruct I as [I|I]; [contradiction | apply (H a (or_introl eq_refl) I)].
Qed.

Definition among (l : list (list bool)) (t : list bool) : bool := if in_dec (list_eq_dec bool_dec) t l then true else false.

Lemma among_spec l t : among l t = true <-> In t l.
Proof. unfold among; destruct (in_dec (list_eq_dec bool_dec) t l); split; intros; try discriminate; tauto. Qed.

Lemma length_both {A : Type} (f : A -> bool) l :
  length l = (length (filter f l) + length (filter (fun a => negb (f a)) l))%nat.
Proof. induction l as [|a l IH]; simpl; [reflexivity|]; destruct (f a); simpl; lia. Qed.

(* The first of the numbers is left out. *)
Definition shift (v : nat -> R) (i : nat) : R := v (S i).

Lemma combination_shift l v : combination l v -> combination (map shift l) (shift v).
Proof.
  intros F; induction F as [f Z | a v f' f M C IH H].
  - apply combination_zero; intros; apply Z.
  - apply (combination_plus _ a (shift v) (shift f')); [apply in_map, M | exact IH | intros; apply H].
Qed.

Lemma combination_first_zero l (v : nat -> R) : (forall r, In r l -> r 0%nat = 0) -> combination l v -> v 0%nat = 0.
Proof.
  intros Z F; induction F as [f E | a v f' f M C IH H]; [apply E|]; rewrite H, IH, (Z v M); ring.
Qed.

Definition without (b r : nat -> R) (i : nat) : R := r i - r 0%nat / b 0%nat * b i.

Lemma combination_without l1 b l2 (v : nat -> R) : b 0%nat <> 0 -> v 0%nat = 0 ->
  combination (l1 ++ b :: l2) v -> combination (map (without b) (l1 ++ l2)) v.
Proof.
  intros B V F; apply (combination_ext _ (without b v)); [|intros i; unfold without; rewrite V; field; exact B].
  clear V; induction F as [f Z | a g f' f M C IH H].
  - apply combination_zero; intros i; unfold without; rewrite !Z; field; exact B.
  - apply in_app_or in M; destruct M as [M|[<-|M]].
    + apply (combination_plus _ a (without b g) (without b f')); [apply in_map, in_or_app; tauto | exact IH |].
      intros i; unfold without; rewrite !H; field; exact B.
    + apply (combination_ext _ _ _ IH); intros i; unfold without; rewrite !H; field; exact B.
    + apply (combination_plus _ a (without b g) (without b f')); [apply in_map, in_or_app; tauto | exact IH |].
      intros i; unfold without; rewrite !H; field; exact B.
Qed.

Definition has_signs (l : list (nat -> R)) (n : nat) (y : list bool) : Prop :=
  exists v, combination l v /\ forall i, (i < n)%nat -> 0 < labelling y i * v i.

Lemma cover_count n : forall (l : list (nat -> R)) (ls : list (list bool)),
  NoDup ls -> (forall y, In y ls -> length y = S n /\ has_signs l (S n) y) ->
  (length ls <= 2 * binom_sum n (length l))%nat.
Proof.
  induction n as [|n IH]; intros l ls D H.
  all: destruct (all_zero_or_not l 0) as [Z | [l1 [b [l2 [-> B]]]]].
  1, 3: destruct ls as [|y ls]; [simpl; lia|]; destruct (H y (or_introl eq_refl)) as [_ [v [C S]]];
    specialize (S 0%nat ltac:(lia)); rewrite (combination_first_zero l v Z C) in S; lra.
  - assert (I : incl ls [[true]; [false]]).
    { intros y Y; destruct (H y Y) as [L _]; destruct y as [|[|] [|]]; try discriminate; simpl; tauto. }
    pose proof (NoDup_incl_length D I) as L; rewrite app_length; simpl length in *.
    rewrite Nat.add_succ_r; pose proof (binom_sum_positive 0 (length l1 + length l2)); lia.
  - set (T := after true ls); set (F := after false ls).
    set (union := T ++ filter (fun t => negb (among T t)) F); set (common := filter (among T) F).
    assert (count : length ls = (length union + length common)%nat).
    { rewrite length_after by (intros y Y ->; destruct (H _ Y); discriminate).
      unfold union; rewrite app_length; fold T F; rewrite (length_both (among T) F); unfold common; lia. }
    assert (tails : forall b' t, In (b' :: t) ls -> length t = S n /\ exists v, combination (l1 ++ b :: l2) v /\
        0 < labelling [b'] 0 * v 0%nat /\ forall i, (i < S n)%nat -> 0 < labelling t i * v (S i)).
    { intros b' t Y; destruct (H _ Y) as [L [v [C S]]]; split; [simpl in L; lia|].
      exists v; split; [exact C|]; split; [exact (S 0%nat ltac:(lia))|].
      intros i K; exact (S (Datatypes.S i) ltac:(lia)). }
    assert (U : (length union <= 2 * binom_sum n (length (map shift (l1 ++ b :: l2))))%nat).
    { apply IH.
      - apply nodup_app; [apply nodup_after, D | apply NoDup_filter, nodup_after, D |].
        intros t M N; apply filter_In in N; destruct N as [_ N].
        apply among_spec in M; rewrite M in N; discriminate.
      - intros t M; assert (Y : exists b', In (b' :: t) ls).
        { apply in_app_or in M; destruct M as [M|M]; [|apply filter_In in M; destruct M as [M _]];
            apply in_after in M; eexists; exact M. }
        destruct Y as [b' Y]; destruct (tails b' t Y) as [L [v [C [_ S]]]]; split; [exact L|].
        exists (shift v); split; [apply combination_shift, C | exact S]. }
    assert (K : (length common <= 2 * binom_sum n (length (map shift (map (without b) (l1 ++ l2)))))%nat).
    { apply IH; [apply NoDup_filter, nodup_after, D|].
      intros t M; apply filter_In in M; destruct M as [MF MT]; apply among_spec in MT; apply in_after in MF, MT.
      destruct (tails _ _ MT) as [L [v [C [V S]]]], (tails _ _ MF) as [_ [v' [C' [V' S']]]]; split; [exact L|].
      unfold labelling in V, V'; simpl in V, V'.
      exists (shift (fun i => - v' 0%nat * v i + v 0%nat * v' i)); split.
      - apply combination_shift, combination_without; [exact B | ring |].
        apply combination_sum; apply combination_scaled; assumption.
      - intros i I; unfold shift; specialize (S i I); specialize (S' i I).
        rewrite Rmult_plus_distr_l.
        assert (0 < - v' 0%nat * (labelling t i * v (Datatypes.S i))) by (apply Rmult_lt_0_compat; lra).
        assert (0 < v 0%nat * (labelling t i * v' (Datatypes.S i))) by (apply Rmult_lt_0_compat; lra).
        lra. }
    rewrite !map_length, !app_length in *; simpl length in *; rewrite Nat.add_succ_r in *.
    rewrite binom_sum_step; lia.
Qed.

(* exponential/own-labels, the constants: how many of the 2 ^ n labellings can be fitted in sign. *)
Theorem fitted_labellings (p d n : nat) (coefficient : nat -> R) (x : nat -> point) (ls : list (list bool)) :
  (2 <= d)%nat -> on_sphere d n x -> (1 <= n)%nat -> NoDup ls ->
  (forall y, In y ls -> length y = n /\ fits (polynomial p coefficient) d n x (labelling y)) ->
  (length ls <= 2 * binom_sum (n - 1) (patterns p d))%nat.
Proof.
  intros D S N U H; destruct n as [|n]; [lia|]; replace (Datatypes.S n - 1)%nat with n by lia.
  rewrite <- (count_patterns p d D); replace (length (sphere_patterns p d)) with
    (length (values x (sphere_patterns p d))) by apply map_length.
  apply cover_count; [exact U|]; intros y Y; destruct (H y Y) as [L F]; split; [exact L|].
  apply (fit_has_signs p coefficient d _ x); assumption.
Qed.

(* exponential/own-labels, the constants: at n = 2 R at most half of them. *)
Theorem half_of_the_labellings (p d : nat) (coefficient : nat -> R) (x : nat -> point) (ls : list (list bool)) :
  let n := (2 * patterns p d)%nat in
  (2 <= d)%nat -> on_sphere d n x -> NoDup ls ->
  (forall y, In y ls -> length y = n /\ fits (polynomial p coefficient) d n x (labelling y)) ->
  (2 * length ls <= 2 ^ n)%nat.
Proof.
  intros n D S U H.
  assert (R1 : (1 <= patterns p d)%nat).
  { rewrite <- (count_patterns p d D); unfold sphere_patterns; rewrite app_length.
    destruct (one_is_monomial (d - 1) p) as [m [M _]]; destruct (monomials (d - 1) p); [inversion M | simpl; lia]. }
  pose proof (fitted_labellings p d n coefficient x ls D S ltac:(unfold n; lia) U H) as B.
  pose proof (binom_sums (n - 1) (patterns p d) (patterns p d) ltac:(unfold n; lia)) as E.
  replace n with (Datatypes.S (n - 1)) by (unfold n; lia); simpl Nat.pow; lia.
Qed.
