"""By hand: cells of chapters whose checks were all they printed, and the words that change with them."""
POINTER = """## The record

Every verdict on the statements of this page, the checks behind it, the side lemmas and what became of each statement of the paper stand in [the record of this chapter](record/{slug}).

"""
OPENING = {}
#: (chapter, a line of the cell as it was) -> the cell as it is in the chapter
CELLS = {
    ("sensitivity/random-features", 'scaled = [record.mean("S", "n", **run) * root for run in runs]'): '''\
runs = [{"d": 192, "ratio": ratio} for ratio in (0.25, 1, 4, 16)]
runs += [{"d": d, "ratio": 1} for d in (384, 768)]
scaled = [record.mean("S", "n", **run) * root for run in runs]
law = [1 + np.sqrt(2 / (run["ratio"] * lengths)) for run in runs]  # k = ratio n d
over_law = np.divide(scaled, law)
print(f"S √n over the law, 30 means: {over_law.min():.2f} to {over_law.max():.2f}")''',
    ("sensitivity/random-features", "wrong = squares * 32"): '''\
low, high = mean_interval(squares * 32)
print(f"mean square of V flat(X), 99.9% interval: {low:.1f} to {high:.1f}")''',
    ("sensitivity/depth", "class Forgetful(sensitivity.DeferredGaussian):"): '''\
class Forgetful(sensitivity.DeferredGaussian):
    def _images(self, new, other, other_image):
        return self.deviation * normal(len(new), other.shape[1], generator=self.generator)


B = Forgetful(40, 30, 1.0, generator(4))
right, left = normal(5, 30, generator=generator(5)), normal(4, 40, generator=generator(6))
first, second = B.times(right), B.transpose_times(left)
one_way, other_way = float(left[0] @ first[0]), float(second[0] @ right[0])
print(f"u·(Av) = {one_way:.2f}, (Aᵀu)·v = {other_way:.2f}")''',
    ("sensitivity/attention-is-sensitive", 'X, W, delta = contexts["iid"], soft.W, deltas[0]'): '''\
X, W, delta = contexts["iid"], soft.W, deltas[0]
weights = torch.softmax(soft.scores(X), dim=1)[1:, :1]  # of token 0, before it moves
log_Z = torch.logsumexp(soft.scores(X), dim=1)[1:]  # the sum should leave out token 0
wrong = torch.sigmoid(soft.scores(X)[1:, 0] - log_Z)[:, None]  # its share at Δ = 0
print(f"largest share at Δ = 0: {float(weights.max()):.3f}, ", end="")
print(f"by the broken update {float(wrong.max()):.3f}")
print("a/(1 + a) everywhere:", torch.allclose(wrong, weights / (1 + weights)))''',
    ("sensitivity/depth", "squares = torch.zeros(500, L)"): '''\
n, d, k, L, g = 5, 4, 48, 8, generator(0)
X, other = tokens.contexts("iid", 2, n, d, seed=0)
squares = torch.zeros(500, L)
for draw in range(500):
    old, new = X.flatten(), torch.cat([X[:1] + other[:1], X[1:]]).flatten()
    for l in range(L):
        V = normal(k, len(old), generator=g) * math.sqrt(2 / len(old))
        old, new = (V @ old).relu(), (V @ new).relu()
        squares[draw, l] = (new - old).square().sum() * n / k
print("mean square after each layer:", squares.mean(dim=0).numpy().round(2))
low, high = mean_interval(squares[:, 7])
print(f"after eight layers, 99.9% interval of the mean: {low:.2f} to {high:.2f}")''',
    ("sensitivity/random-features", "unit, doubled, U = math.sqrt(n) / sums.relu().norm(), [], []"): '''\
n, d, g = 24, 40, generator(14)
X = tokens.contexts("real", 1, n, d, 15)[0]
V = normal(n * d, n * d, generator=g) / math.sqrt(n * d)
sums = V @ X.flatten()
unit, doubled, U = math.sqrt(n) / sums.relu().norm(), [], []
for i in range(n):
    V_i = V[:, d * i : d * (i + 1)]  # the columns that meet word i
    doubled.append(float(((sums + V_i @ X[i]).relu() - sums.relu()).norm() * unit))
    U.append(float(torch.linalg.matrix_norm(V_i, ord=2) * math.sqrt(d) * unit))
print(f"times √n: doubling a word {max(doubled):.1f}, any move at most {max(U):.1f}")
print(f"all {n} certificates: {min(U):.2f} to {max(U):.2f}")''',
    ("sensitivity/new-label", "k, d, over = 256, 64, []"): '''\
k, d, over = 256, 64, []
for n in (10, 40, 160):
    V = normal(k, n * d, generator=generator(n)) / math.sqrt(n * d)
    X = normal(n * d, generator=generator(n + 1))  # all words in a row
    phi = torch.relu(V @ X)
    slope, changed = V[:, :d].T @ phi, X.clone()
    changed[:d] -= math.sqrt(d) * slope / slope.norm()  # the first word moves
    new = torch.relu(V @ changed)
    a, S = float(new @ phi / (phi @ phi)), float((new - phi).norm() / phi.norm())
    over.append((1 + a) ** 2 - (4 - 4 * S))
    print(f"{n} words: alignment {a:.2f}, change {S:.2f}, error {(1 + a) ** 2:.2f}")
print(f"error less 4 - 4 S: at least {min(over):.2f}")''',
    ("sensitivity/new-label", 'check = identity("change by re-training", moved @ (theta_r - theta), a_f * change)'): '''\
by_tuning = float((moved @ (theta_r - theta) - a_f * change).abs().max())
by_training = float((moved @ (theta_r - theta) - a_r * change).abs().max())
print(f"(6.13) is off by {by_tuning:.1g} with a_f, with a_r by 0: {by_training < 1e-9}")
try:
    sensitivity.feature_alignment(Phi, Phi[3], moved)
except ValueError as error:
    print(error)''',
    ("tangent/constants", "ratio.append(float(error.square().sum()) / (4 * math.exp(-0.05 * step)))"): '''\
now, ratio = w, []
for step in range(140):
    share = torch.softmax(x @ now.T, dim=1)
    answer = m * share @ values
    error = answer - y
    ratio.append(float(error.square().sum()) / (4 * math.exp(-0.05 * step)))
    slope = share * (m * values - answer[:, None])
    now = now - 0.05 / (m * lam) * (slope * error[:, None]).T @ x
farthest = float((now - w).norm(dim=1).max())
print(f"error {float(error.square().sum()):.0e} of 4, farthest key moved {farthest:.1g}")
print(f"error over the promise, after the start: at most {max(ratio[1:]):.2f}")''',
    ("trained/sink", "plain, ways = weights @ values, sink.two_ways(weights, values, 2)"): '''\
mask = torch.ones(7, 7, dtype=torch.bool)
weights = softmax(scores, mask)
plain, ways = weights @ values, sink.two_ways(weights, values, 2)
other = values.index_fill(1, torch.tensor([2]), 0)  # the value of key 2 set to 0
without = scores[..., rest].softmax(-1) @ values[:, rest]  # softmax without key 2
silenced, forbidden = ((new - plain).norm(dim=-1) for new in (weights @ other, without))
print("silenced, w|v|:", torch.allclose(silenced, ways.silenced, rtol=1e-10))
print("forbidden, w|m - v|:", torch.allclose(forbidden, ways.forbidden, rtol=1e-10))''',
    ("tangent/network-and-kernel", 'exact = torch.autograd.functional.jacobian(loss, W)'): '''\
x, y = (unit_points(5, 3, seed).to(device) for seed in (0, 1))
free = SoftmaxNetwork.unpaired(3, 12, seed=1).to(device)
W, a, m = free.W, free.a, free.m  # random keys; a row of values for each output
S = torch.softmax(x @ W, dim=1)  # a row of shares for each input
F = m * S @ a.T
pulls = (m * a[:, None] - F.T[..., None]) * S  # output, input, key
gradient = torch.einsum("il,lir,id->dr", F - y, pulls, x)
loss = lambda W: (m * torch.softmax(x @ W, dim=1) @ a.T - y).square().sum() / 2
exact = torch.autograd.functional.jacobian(loss, W)
print("equal up to rounding:", torch.allclose(gradient, exact, rtol=1e-10))''',
    ("tangent/network-and-kernel", "P = pulls.flatten(0, 1)  # of the cell above: a row for each output and input"): '''\
P = pulls.flatten(0, 1)  # of the cell above: a row for each output and input
H = (x @ x.T).repeat(3, 3) * (P @ P.T) / m  # three outputs: nine blocks
outputs = lambda W: (m * torch.softmax(x @ W, dim=1) @ a.T).T.flatten()
J = torch.autograd.functional.jacobian(outputs, W).flatten(1)  # a row for each answer
print("m H is J Jᵀ:", torch.allclose(m * H, J @ J.T, rtol=1e-10))
f = outputs(W) - y.T.flatten()  # the errors
stepped = lambda eta: outputs(W - eta * gradient)
speed = torch.autograd.functional.jacobian(stepped, torch.tensor(0.0).to(W))
print("a short step changes answers by -η m H f:", torch.allclose(speed, -m * H @ f))''',
    ("tangent/kernel-barely-moves", "neurons, R, dice = 40, 0.1, generator(0)  # change both numbers"): '''\
neurons, R, dice = 40, 0.1, generator(0)  # change both numbers
random = lambda k: torch.randn(3, k, generator=dice, dtype=torch.float64).to(device)
W, a = random(neurons // 2).repeat(1, 2), x.new_ones(neurons)
a[neurons // 2 :] = -1  # pairs: equal keys, opposite values
answers = lambda W: neurons * torch.softmax(x @ W, dim=1) @ a
slopes = lambda W: torch.func.jacrev(answers)(W).flatten(1)  # a row for each question
kernel_at = lambda W: slopes(W) @ slopes(W).T / neurons
toward, shares = random(neurons), torch.softmax(x @ W, dim=1)
change = (kernel_at(W + R * toward / toward.norm(dim=0)) - kernel_at(W)).abs()
f = (1 + 2 * R) * math.expm1(4 * R) + R**2 * math.exp(4 * R)
part = change / (f * (x @ x.T).abs() * (neurons * shares @ shares.T))
print(f"largest change of an entry over its bound: {float(part.max()):.2f}")''',
    ("tangent/closed-form", "alike, spread = [[1, 1, 1, 1], [1, 1, 1, 1]], [[1, 1, 1, 1], [1, 1, -1, -1]]"): '''\
alike, spread = [[1, 1, 1, 1], [1, 1, 1, 1]], [[1, 1, 1, 1], [1, 1, -1, -1]]
keys = torch.randn(3, 4, generator=generator(0), dtype=torch.float64).repeat(1, 2).to(x)
for name, signs_of_pairs in (("spread", spread), ("equal", alike)):  # change a sign
    values = torch.cat([tensor(signs_of_pairs), -tensor(signs_of_pairs)], dim=1).double()
    answers = lambda keys: 8 * torch.softmax(x @ keys, dim=1) @ values.T
    slopes = torch.func.jacrev(answers)(keys).reshape(12, 24)
    filled = int(torch.linalg.matrix_rank(slopes.cpu()))
    print(f"{name} signs: {filled} of 12 directions")''',
    ("tangent/closed-form", "nets = [SoftmaxNetwork.unpaired(3, 2**13, s, 0.5, outputs=2).to(device) for s in range(20)]"): '''\
nets = [SoftmaxNetwork.unpaired(3, 2**13, s, 0.5, outputs=2).to(device) for s in range(20)]
limit = torch.block_diag(*[limit_kernel(x, sigma=0.5)] * 2)
errors = [float((tangent_kernel(net, x) - limit).norm() / limit.norm()) for net in nets]
low, high = mean_interval([2**13 * e**2 / c[0.5] ** 2 for e in errors])
print(f"m |error|² / c², unpaired, m = 8192: 99.9% interval {low:.1f} to {high:.1f}")''',
    ("tangent/gradient-descent", "part = (patterns.T @ y).square().sum(1)  # of the squared error, in each pattern"): '''\
x, y = unit_points(10, 5, 0), unit_points(10, 5, 50)
speeds, patterns = torch.linalg.eigh((x @ x.T) * (x @ x.T).exp())  # the endless kernel
part = (patterns.T @ y).square().sum(1)  # of the squared error, in each pattern
asked = printed.theorem_4_2(10, 5, float(speeds[0]))  # all as logarithms to base 10
kept = (2 * 10**asked.steps * torch.log1p(-(10**asked.m_eta) * speeds)).exp()
print(f"squared error after the theorem's steps: {float(part @ kept):.1e}")
print(f"digits of the width asked for: {asked.m:.0f}, ", end="")
print(f"of e^(18B) alone: {18 * asked.B / math.log(10):.0f}")''',
    ("tangent/widths-and-steps", 'careless = [(n, w) for n in (16, 32, 64) for w in table.first_fitted("softmax", n, 8)]'): '''\
careless = [(n, w) for n in (16, 32, 64) for w in table.first_fitted("softmax", n, 8)]
slope = np.polyfit(*np.log2(careless).T, 1)[0]
print(f"exponent of the careless width in n: {slope:.1f}")''',
    ("tangent/constants", '    identity("D against its formula", two.movement / math.sqrt(2), D),'): '''\
lost_root = two.movement / math.sqrt(2)
print(f"two outputs: D over its formula {two.movement / D:.2f}, ", end="")
print(f"without √k {lost_root / D:.2f}")
farthest = float(flow.moved.max())
print(f"one output: distance moved over D {farthest / promise.movement:.2f}")''',
    ("tangent/kernel-regression", "wrong = printed.equation_24(H, y.T.flatten(), rate, 1, 60)"): '''\
x, y = unit_points(6, 3, 0), unit_points(6, 2, 50)
H = tangent_kernel(SoftmaxNetwork.paired(3, 60, seed=0, outputs=2), x)
rate = largest_rate(H, 60) / 2
wrong = torch.stack(printed.equation_24(H, y.T.flatten(), rate, 1, 60))
right = torch.stack(ntk_regression(H, y, 60, rate, 60, at=range(61))[1])
share = float(wrong[-1].norm() / right[-1].norm())
print(f"length of the coefficients after 60 steps, without m over with it: {share:.2f}")''',
    ("patches/three-events", "fall = lambda run: float(run.path.alpha[-1] / run.path.alpha.max())"): '''\
fall = lambda run: float(run.path.alpha[-1] / run.path.alpha.max())
turned = {law: [r for r in rows if fall(r) < 1] for law, rows in series.items()}
risks = {law: [runs.loss_at_turn(r) for r in rows] for law, rows in turned.items()}
for law, row in risks.items():
    print(f"{law}: risk at the turn, by size:", *[f"{risk:.2f}" for risk in row])
sunk = max(fall(rows[-1]) for rows in turned.values())
print(f"last length over the largest, at the largest D: {sunk:.1f}")''',
    ("patches/learning-from-samples", 'errs, rows = paths[1000]["error"], paths[1000]["association"]'): '''\
errs, rows = paths[1000]["error"], paths[1000]["association"]
print(f"greatest share of associated rows, least of 20 seeds: {rows.max(1).min():.0f}")
lost = int(((rows.max(1) == 1) & (rows[:, -1] < 1)).sum())
low, high = rate_interval(lost, len(rows))
print(f"rows lost by step 300: in {lost} of {len(rows)} seeds, ", end="")
print(f"so with a chance of {low:.2f} to {high:.0f}")''',
    ("patches/learning-from-samples", "A, v = printed.theorem_4_2("): '''\
A, v = printed.theorem_4_2(
    *EASY.sample(500, seed=0), path.A[0], path.v[0], 10.0, 3e-3, 200, axis=0
)
X, y = EASY.sample(5000, seed=12345)
z = D * (X @ v) @ torch.softmax(A, 0).T
wrong = float((y * (z**3 + 1e-3 * z).sum(1) <= 0).double().mean())
broken = {
    "axis 0": (patches.association(A, SCATTERED), wrong),
    "no diagonal": (float(none[0].association[-1]), float(none[0].error[-1])),
}
for name, (share, error) in broken.items():
    print(f"{name}: all rows associated {share == 1}, ", end="")
    print(f"error below that of a vote {error <= linear}")''',
    ("patches/learning-from-samples", "order, (X, y) = torch.randperm(D, generator=generator(9)), EASY.sample(200, seed=0)"): '''\
order, (X, y) = torch.randperm(D, generator=generator(9)), EASY.sample(200, seed=0)
moved = short.A[0][order][:, order]
A, v = printed.theorem_4_2(X[:, order], y, moved, short.v[0], 10.0, 3e-3, 60)
permuted = by_formula[0][order][:, order]
far = [float((one - two).norm() / two.norm()) for one, two in ((A, permuted), (v, by_formula[1]))]
print("relative error below 1e-8: scores and value vector", [error < 1e-8 for error in far])''',
    ("patches/transfer", "task = transfer.world(w=transfer.OTHER)  # another texture"): '''\
task = transfer.world(w=transfer.OTHER)  # another texture
X, y = task.sample(5, seed=3)  # source.A below: the scores of the opening
ours = transfer.one_step(source.A, X, y).v
as_printed = printed.theorem_5_1_step(source.A, X, y)
cosine = float(torch.cosine_similarity(ours, as_printed, dim=0))
print(f"cosine between the proof's step and the gradient: {cosine:.6f}")
low, high = mean_interval(found.misfits[0])  # P(f* F > 0 fails), six draws
print(f"five images, scores kept: fails with a chance of {low:.4f} to {high:.4f}, ", end="")
print(f"half of a vote's error: {linear / 2:.4f}")''',
    ("patches/gaussian-patches", "D, X = 16, normal(200, 16, 4, generator=generator(0))  # 200 images of 16 patches"): '''\
D, X = 16, normal(200, 16, 4, generator=generator(0))  # 200 images of 16 patches


def output(A):  # what is read off a patch is its first coordinate; then cube and add
    return ((D * X[..., 0] @ torch.softmax(A, dim=1).T) ** 3).sum(1)


A, order = normal(D, D, generator=generator(3)), torch.randperm(D, generator=generator(4))
same = torch.allclose(output(A[order]), output(A), rtol=1e-10)
print("rows exchanged, the same outputs up to rounding:", same)
change = float((output(A[:, order]) - output(A)).abs().max())
print(f"columns exchanged, an output changes by up to {change:.0f}")''',
    ("patches/gaussian-patches", "# Every sum of squares is positive: all labels are +1, and the first check fails, so that"): '''\
squares = (X[..., 0].reshape(200, D // C, C).sum(2) ** 2).sum(1).sign()
print(f"labels +1: {int((squares == 1).sum())} of 200, of cubes {int((labels == 1).sum())}")''',
    ("patches/real-images", "W_Q, W_K, W_V, X, P = (normal(6, 6, generator=generator(seed)) for seed in range(5))"): '''\
W_Q, W_K, W_V, X, P = (normal(6, 6, generator=generator(seed)) for seed in range(5))


def read(X, P):  # vanilla attention: six patches, the rows of X, with their encodings
    scores = (X + P) @ W_Q @ ((X + P) @ W_K).T / 6**0.5
    return torch.softmax(scores, dim=1) @ X @ W_V


order = torch.tensor([2, 0, 1, 4, 3, 5])
same = torch.allclose(read(X[order], P[order]), read(X, P)[order], rtol=1e-10)
print("patches and encodings permuted, the same readings up to rounding:", same)
change = float((read(X[order], P) - read(X, P)[order]).abs().max())
print(f"only patches permuted, a reading changes by up to {change:.1f}")''',
    ("patches/real-images", "tiles = grid_permutation(8, 2, seed=1)  # any order of the patches of side 2"): '''\
tiles = grid_permutation(8, 2, seed=1)  # any order of the patches of side 2
for attention in ATTENTIONS:
    sizes = {"layers": 2, "heads": 4, "dim": 32, "hidden": 32}
    network = VisionTransformer(
        8, 1, 10, patch=2, **sizes, attention=attention, position_scale=0.0
    ).double()
    with torch.no_grad():
        one, other = network(images.permute(test, tiles)), network(test)
    print(f"{attention}: relative error below 1e-8:", torch.allclose(one, other, rtol=1e-8))''',
    ("exponential/one-knob", "wrong = [x / (x + rivals + 1) for x in r]"): '''\
for x, right in zip(r, by_layer):
    print(f"{right:.6f} by the layer, {x / (x + rivals + 1):.6f} by the broken rule")
print(f"two keys with equal scores: {1 / (1 + 2):.3f} in place of {1 / (1 + 1):.1f}")''',
    ("exponential/separation", "(s, g, large), (s_0, g_0, tiny) = chance_of[1.2], chance_of[0.01]"): '''\
(s, g, large), (s_0, g_0, tiny) = chance_of[1.2], chance_of[0.01]
at_least = 1 - (7 / 8) ** m if (1.2 + 2 * b) * s > 0.1 + b else 0
h = (0.1 - (0.01 + b) * s_0 - b * g_0) / b
at_most = m * math.exp(-(d - 2) * h**2 / 2)
print(f"alarms, large entry: {large:.2f}, promised at least {at_least:.2f}")
print(f"alarms, tiny entry: {tiny:.2f}, promised at most {at_most:.2f}")''',
    ("exponential/training", "by_formula = [kernels.pair_rank(even, odd, 9, 3) for _, even, odd in parts.values()]"): '''\
by_formula = [kernels.pair_rank(even, odd, 9, 3) for _, even, odd in parts.values()]
measured = []
for seed in (4, 5, 6):
    x = tangent.unit_points(9, 3, seed=seed)
    K = [kernels.smooth_limit_kernel(u, torch.cat([x, -x])) for u, *_ in parts.values()]
    values = torch.stack([torch.linalg.eigvalsh(k) for k in K])
    measured.append((values > 1e-11 * values[:, -1:]).sum(dim=1).tolist())
print("ranks at 9 opposite pairs, by the formula:", *by_formula)
print("measured in three draws, the same:", measured == [by_formula] * 3)''',
    ("exponential/dividing", "loud = float((best[1, 0.01] > 0.6 * n**2).double().mean())"): '''\
loud = float((best[1, 0.01] > 0.6 * n**2).double().mean())
over = int((best[1, 0.01] > 1.01 * n**2.0201).sum())
print(f"n = {n}: share of signs above 0.6 n²: {loud:.3g}, promised at least {1 / 8}")
print(f"sets of signs above 1.01 n^2.0201: {over}")''',
}
#: (chapter, words of a shown statement in a cell of checks) whose table the story speaks of: it stays with the story
KEEP = {
    ("sensitivity/random-features", '"S √n, k = nd": S[wide]'),
    ("sensitivity/attention-is-sensitive", '"found, n = {n}": ends[k::3, 2]'),
    ("tangent/widths-and-steps", '("loss rises", table1.rises)'),
    ("tangent/score", '"steps (infinite width)": steps'),
    ("tangent/score", '"stopped at T0"'),
    ("exponential/separation", '"needed for any scores: log10 R"'),
    ("exponential/training", "labellings of six points that degree 2 reaches"),
}
#: chapter -> words of its page that change
TEXT = {
    "sensitivity/depth": [
        ("The second line tests the last of them: the 99.9% interval of the mean lies below 1.", "The second line is about the last of them: the 99.9% interval of its mean lies below 1."),
        (" (The second line tests all eight shares and shows the largest.)", ""),
        ("are also proved by computer algebra, in the verdict below.", "are also proved by computer algebra, in [the record](record/depth)."),
    ],
    "sensitivity/random-features": [(
        " (It shows the one that is nearest to an end of this interval; so do all outputs of this kind.)", "",
    )],
    "sensitivity/new-label": [(
        "do not fit: the check of (6.13) gives `false`.", "do not fit, as the first line of the cell shows.",
    )],
    "separation/threshold": [("(the last line below)", "(in [the record](record/threshold))")],
    "tangent/gradient-descent": [("The folded cell takes 20 networks", "[The record](record/gradient-descent) takes 20 networks")],
    "sensitivity/attention-is-sensitive": [(
        "So the rows by the claim differ from the layer's. The identity of {prf:ref}`prop-sens-one-token` is then judged `false`, as the cell shows.",
        "So the rows by the claim differ from the layer's, as the cell shows for the largest share.",
    )],
    "tangent/closed-form": [(
        "is no longer 1: the interval that the cell prints lies below it.", "is no longer 1: the interval that the cell prints lies below 1.",
    )],
    "tangent/widths-and-steps": [(
        "Which check of the record notices?", "Which check of [the record](record/widths-and-steps) notices?",
    )],
    "exponential/one-knob": [(
        "which no eye would see; the comparison to ten digits does, and its outcome is `false`.",
        "which no eye would see in a plot; a comparison to ten digits, as in the record, does.",
    )],
}