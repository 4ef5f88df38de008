"""Templates of statements. Each is a function of a Draft that gives an expression, or "!" and a statement. Adding an
operator is adding a line."""
import layers

UNARY = """abs absolute acos acosh asin asinh atan atanh ceil conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1
floor frac lgamma log log10 log1p log2 logit nan_to_num neg positive rad2deg reciprocal relu round rsqrt selu sigmoid sign
signbit sin sinc sinh sqrt square tan tanh trunc sgn i0 isfinite isinf isnan isneginf isposinf isreal logical_not""".split()
SPECIAL = """special.i0e special.i1 special.i1e special.erfcx special.ndtri special.log_ndtr special.entr special.bessel_j0
special.bessel_j1 special.modified_bessel_i0 special.spherical_bessel_j0""".split()
UNARY_INPLACE = """abs acos asin atan ceil cos cosh erf exp expm1 floor frac log1p neg reciprocal relu round rsqrt sigmoid sign sin
sinh sqrt square tan tanh trunc zero logical_not nan_to_num deg2rad""".split()
ACTIVATION = """celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 rrelu selu silu softplus
softshrink softsign tanhshrink""".split()
ACTIVATION_INPLACE = "celu elu hardsigmoid hardswish hardtanh leaky_relu mish relu relu6 selu silu".split()
BINARY = """add sub mul div maximum minimum fmax fmin atan2 hypot fmod remainder pow copysign logaddexp logaddexp2 floor_divide
true_divide rsub xlogy nextafter heaviside eq ne lt le gt ge logical_and logical_or logical_xor isclose""".split()
BINARY_INPLACE = "add sub mul div fmod remainder pow copysign atan2 hypot eq ne lt gt logical_and floor_divide".split()
INTEGER_BINARY = """add sub mul bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm floor_divide
remainder fmod maximum minimum eq lt div true_divide""".split()
REDUCTION = "sum mean prod amax amin var std logsumexp nansum nanmean norm any all count_nonzero argmax argmin".split()
REDUCE_ALL = "sum mean prod max min var std median any all argmax argmin norm nansum".split()
SCAN = "cumsum cumprod logcumsumexp cummax cummin".split()
LOSS = """mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss kl_div poisson_nll_loss
binary_cross_entropy_with_logits""".split()

TEMPLATES = []


def template(function, weight=1):
    TEMPLATES.append((weight, function))


for op in UNARY + SPECIAL:
    template(lambda g, op=op: f"torch.{op}({g.any('ffffi')})")
for op in UNARY_INPLACE:
    template(lambda g, op=op: f"!{g.target()}.{op}_()", 0.6)
for op in ACTIVATION:
    template(lambda g, op=op: f"F.{op}({g.f()})")
for op in ACTIVATION_INPLACE:
    template(lambda g, op=op: f"!F.{op}({g.target()}, inplace=True)", 0.5)
for op in BINARY:
    template(lambda g, op=op: f"torch.{op}({(x := g.any('fffi'))}, {g.like(x, 'ffi') if g.chance(0.75) else g.num()})")
for op in BINARY_INPLACE:
    template(lambda g, op=op: f"!{(x := g.target('fffi'))}.{op}_({g.like(x, 'fi') if g.chance(0.7) else g.num()})", 0.7)
for op in INTEGER_BINARY:
    template(lambda g, op=op: f"torch.{op}({(x := g.any('iib'))}, {g.like(x, 'ib')})", 0.7)
for op in REDUCTION:
    template(lambda g, op=op: f"torch.{op}({(x := g.f(least=1))}, dim={g.dim(x)}{g.of('', ', keepdim=True')})")
for op in sorted(set(REDUCTION) - {"prod", "argmax", "argmin"}):
    template(lambda g, op=op: f"torch.{op}({(x := g.any('fi', least=2))}, dim=({g.of('0, 1', '0, -1', '-1,')}))", 0.3)
for op in REDUCE_ALL:
    template(lambda g, op=op: f"torch.{op}({g.any('fffi')})", 0.6)
for op in SCAN:
    template(lambda g, op=op: f"torch.{op}({(x := g.any('ffi', least=1))}, {g.dim(x)})")
for op in LOSS:
    template(lambda g, op=op: f"F.{op}({(x := g.f())}, {g.same(x)}, reduction={g.of(*REDUCE)!r})")
REDUCE = ("mean", "sum", "none")

# Python's own operators, in place on names, and on integers and bools.
for sign in "+ - * / // % ** @".split():
    template(lambda g, sign=sign: f"{(x := g.any('fffi'))} {sign} {g.like(x, 'fi') if g.chance(0.7) else g.num()}", 0.6)
for sign in "+ - * / **".split():
    template(lambda g, sign=sign: f"!{(x := g.target('fffi'))} {sign}= {g.like(x, 'fi') if g.chance(0.6) else g.num()}")
for sign in "& | ^".split():
    template(lambda g, sign=sign: f"{(x := g.any('ib'))} {sign} {g.like(x)}")
    template(lambda g, sign=sign: f"!{(x := g.target('ib'))} {sign}= {g.like(x)}", 1.5)
for sign in "<< >>".split():
    template(lambda g, sign=sign: f"{g.any('i')} {sign} {g.int(0, 3)}")
    template(lambda g, sign=sign: f"!{g.target('i')} {sign}= {g.int(0, 3)}", 1.5)
template(lambda g: f"~{g.any('ib')}")
template(lambda g: f"{g.num()} - {g.f()}")
template(lambda g: f"{g.num()} / {g.f()}")
template(lambda g: f"2.0 ** {g.f()}")
template(lambda g: f"torch.bitwise_not({g.any('ib')})")

# Pointwise with numbers.
for text in """torch.clamp({x}, -0.5, 0.7)|torch.clamp({x}, min={n})|torch.clamp({x}, max={n})|torch.clip({x}, -1, 1)|torch.clamp_min({x}, 0.1)
torch.clamp_max({x}, 0.4)|torch.round({x}, decimals=1)|torch.threshold({x}, 0.1, 3.0)|F.threshold({x}, 0.2, -1)|torch.mvlgamma({x}.abs() + 3, 2)
torch.polygamma(1, {x}.abs() + 1)|torch.ldexp({x}, {y})|torch.lerp({x}, {y}, 0.3)|torch.lerp({x}, {y}, {y})|torch.addcmul({x}, {y}, {y}, value=0.5)
torch.addcdiv({x}, {y}, {y}.abs() + 1)|torch.add({x}, {y}, alpha=2)|torch.sub({x}, {y}, alpha=0.5)|torch.where({x} > 0, {x}, {y})
torch.where({m}, {x}, {n})|torch.where({m}, {n}, {x})|torch.masked_fill({x}, {m}, {n})|torch.div({x}, {y}, rounding_mode='floor')
torch.div({x}, {y}, rounding_mode='trunc')|F.gelu({x}, approximate='tanh')|F.softplus({x}, 2.0, 1.5)|F.leaky_relu({x}, 0.3)|F.elu({x}, 0.7)
F.hardtanh({x}, -0.3, 0.4)|F.celu({x}, 1.3)|{x}.to(torch.float32)|{x}.to(torch.float64)|{x}.to(torch.bfloat16)|{x}.half()|{x}.long()|{x}.int()
{x}.bool()|{x}.type_as({y})|{x}.clone()|{x}.contiguous()|{x}.detach()|torch.zeros_like({x})|torch.ones_like({x})|torch.full_like({x}, {n})
torch.empty_like({x}).fill_({n})|{x}.new_zeros(3)|{x}.new_ones((2, 3))|{x}.new_full((2,), {n})|{x}.new_tensor([1.0, 2.0])|torch.nan_to_num({x}, 0.0, 1.0, -1.0)
torch.bucketize({x}, torch.tensor([-1.0, 0.0, 0.5]))|torch.frexp({x})|torch.special.xlog1py({x}, {y})|torch.special.zeta({x}.abs() + 1.5, {y}.abs() + 1)
torch.igamma({x}.abs() + 0.5, {y}.abs() + 0.5)|torch.igammac({x}.abs() + 0.5, {y}.abs() + 0.5)|{x}.float() + {y}.double()|torch.float_power({x}, 2)
torch.complex({x}.float(), {y}.float())|torch.polar({x}.float().abs(), {y}.float())|torch.dist({x}, {y})|torch.equal({x}, {y}) * torch.ones(2)
torch.allclose({x}, {y}) * torch.ones(2)|torch.result_type({x}, {y}) and {x} + {y}|F.normalize({x}, dim=0)|torch.rsub({x}, {y}, alpha=2)
torch.clamp({x}, {y} - 1, {y} + 1)|torch.isin({x}, {y})|F.dropout({x}, 0.3, training=False)|torch.std_mean({x})|torch.var_mean({x})|torch.aminmax({x})""".replace(
        "\n", "|").split("|"):
    template(lambda g, text=text: text.format(x=(x := g.f()), y=g.like(x, "f"), n=g.num(), m=g.mask(x)))
for text in """{x}.clamp_(-0.5, 0.7)|{x}.clamp_min_(0)|{x}.masked_fill_({m}, {n})|{x}.fill_({n})|{x}.copy_({y})|{x}.addcmul_({y}, {y}, value=0.5)
{x}.addcdiv_({y}, {y}.abs() + 1)|{x}.lerp_({y}, 0.3)|{x}.pow_(2)|{x}.add_({y}, alpha=0.5)|{x}.sub_({y}, alpha=2)|{x}.masked_scatter_({m}, {x} * 2)
{x}.clip_(max=0.5)|F.threshold({x}, 0.1, 3.0, inplace=True)|{x}.div_({y}, rounding_mode='floor')|{x}.xlogy_({y})|{x}.mul_({n})|{x}.ldexp_({y})
{x}.sub_({n})|{x}.zero_()|{x}.rsqrt_()|{x}.float_power_(2)|{x}.nan_to_num_(0.5)|{x}.detach_()|{x}.clamp_({y} - 1, {y} + 1)
torch.add({x}, {y}, out={x})|torch.mul({x}, 2, out={x})|torch.exp({y}, out={x})|torch.where({m}, {x}, {y}, out={x})|torch.sigmoid({x}, out={x})""".replace(
        "\n", "|").split("|"):
    template(lambda g, text=text: "!" + text.format(x=(x := g.target()), y=g.like(x, "f"), n=g.num(), m=g.mask(x)))
for text in """torch.abs({x})|torch.angle({x})|torch.real({x})|torch.imag({x})|torch.conj({x})|{x} * {y}|{x} + {y}|{x} / {y}|torch.view_as_real({x})|{x}.exp()
{x}.sum()|{x}.mean()|torch.conj({x}) * {y}|torch.isfinite({x})|{x}.mul(1j)|{x} * 2.5|torch.sgn({x})|{x}.sin()|{x}.tanh()|{x}.abs() + 1
torch.view_as_complex(torch.view_as_real({x}) * 2)|{x}.real + {x}.imag|torch.resolve_conj({x}.conj())|{x} == {y}|{x}.reciprocal()|{x}.sqrt()""".replace(
        "\n", "|").split("|"):
    template(lambda g, text=text: text.format(x=(x := g.any("c")), y=g.like(x, "c")), 0.4)

# Mixed types.
template(lambda g: f"{(x := g.any('fib'))} + {g.like(x, 'fibc')}", 4)
template(lambda g: f"{(x := g.any('fib'))} * {g.like(x, 'fib')}", 3)
template(lambda g: f"{(x := g.any('ib'))} / {g.like(x, 'ib')}", 2)
template(lambda g: f"{(x := g.any('fib'))} - {g.num()}", 2)
template(lambda g: f"torch.maximum({(x := g.any('fi'))}, {g.like(x, 'fib')})", 2)
template(lambda g: f"{g.any('fibc')}.sum(dtype=torch.{g.of('float32', 'float64', 'int64')})", 2)
template(lambda g: f"{g.any('fib')}.to(torch.{g.of('uint8', 'int32', 'bool', 'float16', 'complex64', 'int8')})", 3)
template(lambda g: f"torch.cat(({(x := g.any('fi', least=1))}, {g.same(x, g.of('f', 'i', 'b'))}))", 2)
template(lambda g: f"torch.stack(({(x := g.any('fi'))}, {g.same(x, g.of('f', 'i'))}), {g.int(0, x.rank)})", 2)
template(lambda g: f"torch.where({(x := g.any('b'))}, {g.like(x, 'fi')}, {g.like(x, 'fi')})", 2)

for name, function, weight in layers.ALL:
    template(function, weight)

WEIGHTS = [weight for weight, _ in TEMPLATES]


def draw(draft):
    return draft.random.choices(TEMPLATES, WEIGHTS)[0][1]
