# SPDX-License-Identifier: Apache-2.0
"""floptally.from_torch and floptally.verify count what a model runs, and leave nothing behind: fast paths, operators
without a formula, keys that match nothing, caches, inputs, batches."""

from __future__ import annotations

import collections
import dataclasses
import functools
import gc
import logging
import re
import sys
import types
import weakref

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import floptally
from floptally import Mask, _torch_trace

nn = torch.nn
F = torch.nn.functional


def rows(batch, length):
    return torch.zeros(batch, length, 8)


def counted_by_pytorch(model, *inputs):
    """Forward and backward of a real step as FlopCounterMode counts them."""
    from torch.utils.flop_counter import FlopCounterMode

    from floptally._torch_kernels import ATTENTION

    with FlopCounterMode(display=False, custom_mapping=ATTENTION) as counter:
        value = model(*inputs).sum()
        if value.requires_grad:
            value.backward()
    return counter.get_total_flops()


class After(nn.Module):
    """A linear layer, and a function of its output."""

    def __init__(self, function=lambda x: x):
        super().__init__()
        self.linear, self.function = nn.Linear(8, 8), function

    def forward(self, x):
        return self.function(self.linear(x))


LINEAR = 3 * 2 * 8 * 8  #: FLOPs of its linear layer for a token: forward, and the gradients of input and weights
OF_DATA = 2 * 2 * 8 * 8  #: without the gradient of the input

# Fast paths.


def encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x, need_weights=False)[0]


class UnderHead(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body, self.head = body.eval().requires_grad_(False), nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.body(x))


@pytest.mark.parametrize("body", [encoder, SelfAttention, lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)])
def test_a_frozen_encoder_below_a_trained_head_counts_the_matmuls_that_autograd_runs(body):
    model = UnderHead(body())
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        truth = [counted_by_pytorch(model, rows(*size)) for size in ((3, 11), (2, 40))]
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    cost = floptally.from_torch(model, rows)
    for size, flops in zip(((3, 11), (2, 40)), truth):
        assert cost.flops(lengths=[size[1]] * size[0], convention="torch_flop_counter").total == flops
    result = floptally.verify(model, rows(3, 11))
    assert result.pytorch == truth[0] and any("fast path" in note for note in result.notes)


# Operators without a formula.

INTEGERS = torch.zeros(8, 8, dtype=torch.int8)
GROUPS = 2


def grouped(x):
    flat = x.flatten(0, 1)
    ends = torch.full((GROUPS,), flat.shape[0], dtype=torch.int32)
    return torch._grouped_mm(flat.bfloat16(), torch.zeros(GROUPS, 8, 8, dtype=torch.bfloat16), offs=ends).float()


def scaled(x):
    eighth = x.flatten(0, 1).repeat(1, 2).to(torch.float8_e4m3fn)
    one, weight = torch.ones(()), torch.zeros(16, 16).to(torch.float8_e4m3fn).t()
    with torch.no_grad():
        product = torch._scaled_mm(eighth, weight, one, one, out_dtype=torch.float32)
    return product + x.sum()


def complexes(x):
    return (x.to(torch.complex64) @ torch.ones(8, 8, dtype=torch.complex64)).abs()


PRODUCTS = {
    "int8": (lambda x: torch._int_mm(x.flatten(0, 1).to(torch.int8), INTEGERS).float() + x.sum(), 2 * 64),
    "groups": (grouped, 2 * 64),
    "float8": (scaled, 2 * 16 * 16),
    "complex": (complexes, 4 * 2 * 64),
    "complex batches": (lambda x: torch.bmm(x.to(torch.complex64), torch.ones(len(x), 8, 8) + 0j).abs(), 4 * 2 * 64),
    "vector": (lambda x: torch.mv(x.flatten(0, 1), torch.ones(8)), 2 * 8),
    "dot": (lambda x: torch.dot(x.flatten(), torch.ones(x.numel())), 2 * 8),
    "batches added": (lambda x: torch.addbmm(torch.zeros(x.shape[1], 4), x, torch.ones(len(x), 8, 4)), 2 * 8 * 4),
    "in place": (lambda x: torch.zeros(x.shape[0] * x.shape[1], 4).addmm_(x.flatten(0, 1), torch.ones(8, 4)), 2 * 8 * 4),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_an_operator_without_a_flop_formula_in_pytorch_counts_its_multiply_adds(name):
    function, flops = PRODUCTS[name]
    cost = floptally.from_torch(After(function), rows)
    assert cost.flops(lengths=[5, 12]).useful.forward == 17 * (2 * 64 + flops)


def test_a_complex_multiply_add_counts_as_eight_real_operations():
    """An enumeration: 4 multiplications and 2 additions for a product, 2 for adding it."""
    a, b = torch.randn(3, 5, dtype=torch.complex64), torch.randn(5, 4, dtype=torch.complex64)
    operations = 0
    result = torch.zeros(3, 4, dtype=torch.complex64)
    for i, j, k in ((i, j, k) for i in range(3) for j in range(4) for k in range(5)):
        x, y = a[i, k], b[k, j]
        parts = torch.stack((x.real * y.real, x.imag * y.imag, x.real * y.imag, x.imag * y.real))
        real, imaginary = parts[0] - parts[1], parts[2] + parts[3]
        result[i, j] += torch.complex(real, imaginary)
        operations += 4 + 2 + 2
    assert torch.allclose(result, a @ b, atol=1e-5)
    cost = floptally.from_torch(After(complexes), rows)
    assert cost.flops(lengths=[1]).useful.forward - 2 * 64 == operations * 64 // (3 * 4 * 5)
    note = next(note for note in cost.notes if note.startswith("mm: "))
    assert "49152 FLOPs at 2 x 32" in note  # three quarters of 8 a multiply-add


def test_verification_reports_matmuls_that_pytorch_counts_only_in_part():
    model = After(complexes)
    result = floptally.verify(model, rows(3, 11))
    assert result.pytorch == counted_by_pytorch(model, rows(3, 11))
    assert result.equal and result.differences == {"no_formula": -3 * 33 * 2 * 64 * 2}


@torch.library.custom_op("floptally_test::plus", mutates_args=())
def plus(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@plus.register_fake
def _(x):
    return torch.empty_like(x)


plus.register_autograd(lambda context, gradient: gradient)


@torch.library.custom_op("floptally_test::minus", mutates_args=())
def minus(x: torch.Tensor) -> torch.Tensor:
    return x - 1


@minus.register_fake
def _(x):
    return torch.empty_like(x)


minus.register_autograd(lambda context, gradient: plus(gradient))


def test_a_custom_operator_without_a_flop_formula_is_an_error_in_the_forward_and_in_the_backward():
    for function in (lambda x: plus(x) + x, lambda x: minus(x)):
        with pytest.raises(floptally.Error, match=r"(linear|model): runs (plus|minus), .* pass formulas="):
            floptally.from_torch(After(function), rows)
    with pytest.raises(floptally.Error, match="runs plus"):  # in the backward
        floptally.from_torch(After(lambda x: minus(x)), rows, formulas={minus: lambda x, out_shape=None: 0})
    nothing = {minus: lambda x, out_shape=None: 0, torch.ops.floptally_test.plus.default: lambda x, out_shape=None: 0}
    cost = floptally.from_torch(After(lambda x: minus(x)), rows, formulas=nothing)
    assert cost.flops(lengths=[5]).total == 5 * OF_DATA


def test_a_bilinear_layer_is_an_error_unless_a_formula_names_its_operator():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.pair = nn.Bilinear(8, 8, 4)

        def forward(self, x):
            return self.pair(x, x)

    with pytest.raises(floptally.Error, match="^pair: runs _trilinear"):
        floptally.from_torch(Both(), rows)

    def formula(a, b, c, *rest, out_shape=None, **_):
        return 2 * 8 * 8 * 4 * max(a[0], c[0])

    cost = floptally.from_torch(Both(), rows, formulas={torch.ops.aten._trilinear: formula})
    assert cost.flops(lengths=[5]).useful.forward == 5 * 2 * 8 * 8 * 4


@pytest.mark.parametrize("key", [torch._int_mm, torch.ops.aten._int_mm, torch.ops.aten._int_mm.default])
def test_a_custom_flop_formula_may_be_passed_for_a_function_or_an_operator_or_an_overload(key):
    model = After(PRODUCTS["int8"][0])
    cost = floptally.from_torch(model, rows, formulas={key: lambda a, b, out_shape=None: 1000 * a[0]})
    assert cost.flops(lengths=[5]).useful.forward == 5 * (2 * 64 + 1000)


OTHERS = {
    "_fft_r2c": lambda x: torch.fft.rfft(x, dim=1).abs(),
    "linalg_matrix_exp": lambda x: torch.matrix_exp(x.mT @ x),
    "_cdist_forward": lambda x: torch.cdist(x, x, p=1.0),
    "linalg_cholesky_ex": lambda x: torch.linalg.cholesky(x.detach().mT @ x.detach()) + x.sum(),
}


@pytest.mark.parametrize("name", OTHERS)
def test_work_outside_of_matmuls_gives_a_note_and_a_warning_that_name_the_operator(name):
    with pytest.warns(floptally.AssumptionWarning, match=f"^{name}, in After, multiplies outside of matrix products"):
        cost = floptally.from_torch(After(OTHERS[name]), rows)
    assert any(note.startswith(f"{name}, in After, multiplies outside") for note in cost.notes)
    with pytest.warns(floptally.AssumptionWarning, match=name):
        result = floptally.verify(After(OTHERS[name]), rows(3, 11))
    assert any(note.startswith(f"{name}, in ") for note in result.notes)


def test_an_uncounted_deformable_convolution_gives_a_note_and_a_warning():
    ops = pytest.importorskip("torchvision.ops", reason="torchvision is not installed")

    class Deformed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.offset = nn.Conv2d(3, 4, 1), nn.Conv2d(4, 18, 3, padding=1)
            self.inner = ops.DeformConv2d(4, 4, 3, padding=1)

        def forward(self, x):
            x = self.first(x)
            return self.inner(x, self.offset(x))

    with pytest.warns(floptally.AssumptionWarning, match="^deform_conv2d, in inner, multiplies"):
        cost = floptally.from_torch(Deformed(), lambda batch, rows, columns: torch.zeros(batch, 3, rows, columns))
    assert cost.flops(grid_thw=[[1, 5, 7]]).useful.forward == 35 * 2 * (3 * 4 + 9 * 4 * 18)


def test_every_matrix_operator_of_pytorch_is_counted_or_named_in_an_error():
    """All operators of ATen whose names say that they multiply matrices, convolve, transform or decompose."""
    from torch.utils.flop_counter import flop_registry

    from floptally import _torch_formulas as formulas

    names = collections.defaultdict(list)
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("aten::"):
            names[name.partition("::")[2].partition(".")[0]].append(name)
    says = re.compile(
        r"(^|_)(mm|bmm|addmm|baddbmm|addbmm|matmul|linear|mv|addmv|dot|vdot|rnn|lstm|gru|attention|trilinear|cdist|svd|qr|"
        r"eigh?|solve|cholesky|det|inv)(_|$)|conv|fft_[cr]2|matrix_exp|grouped_mm|scaled_mm|gemm|encoder_layer_fwd"
    )
    none = re.compile(  # packs, copies, checks, chooses, interpolates; what is real is the operator it prepares
        r"^_?convert_|^to_|_to_|^_embedding|_out$|_search$|_pack_|reorder|_flatten_weight|_init_dropout|^_fused_sdp_choice"
        r"|upsample|^_cdist_backward|^_nested|_check_errors|^_triton_scaled_dot_attention_|glu|dot_product_fused_attention_over"
    )
    odd = []
    for name, overloads in names.items():
        if not says.search(name) or none.search(name):
            continue
        if all(torch._C._dispatch_has_kernel_for_dispatch_key(one, "CompositeImplicitAutograd") for one in overloads):
            continue  # runs other operators
        packet = getattr(torch.ops.aten, name)
        known = packet in flop_registry or packet in formulas.own_formulas() or name in formulas.OTHERS
        if not known and name not in formulas.PRODUCTS:
            odd.append(name)
    assert odd == []


# Products that only the backward runs, and products that it runs again.


class ScaledBases(torch.autograd.Function):
    """Scales fixed matrices by vectors. The forward multiplies elements, the backward multiplies matrices."""

    @staticmethod
    def forward(ctx, bases, rows, columns):
        ctx.save_for_backward(bases, rows, columns)
        return rows[:, :, None] * bases * columns[None]

    @staticmethod
    def backward(ctx, gradient):
        bases, rows, columns = ctx.saved_tensors
        of_rows = torch.einsum("kbj,kvj,bj->kb", gradient, bases, columns)
        return None, of_rows, torch.einsum("kbj,kvj,kb->bj", gradient, bases, rows)


class TwoProducts(torch.autograd.Function):
    """The element-wise product of two matrix products. The backward computes both again."""

    @staticmethod
    def forward(ctx, a, b, c, d):
        ctx.save_for_backward(a, b, c, d)
        return (a @ b) * (c @ d)

    @staticmethod
    def backward(ctx, gradient):
        a, b, c, d = ctx.saved_tensors
        first, second = gradient * (c @ d), gradient * (a @ b)
        return first @ b.T, a.T @ first, second @ d.T, c.T @ second


class MadeWeight(nn.Module):
    """A linear layer whose weight is a function of parameters."""

    def __init__(self, function, *shapes):
        super().__init__()
        self.function = function
        self.inner = nn.ParameterList(nn.Parameter(torch.randn(shape)) for shape in shapes)
        self.register_buffer("bases", torch.randn(8, 1, 8))

    def forward(self, x):
        return F.linear(x, self.function(self, *self.inner))


def rotation(module, q):
    eye = torch.eye(8, dtype=q.dtype, device=q.device)
    return torch.linalg.solve(eye + q - q.T, eye - q + q.T)


ONLY_BACKWARD = {
    "solve": lambda: MadeWeight(rotation, (8, 8)),
    "inverse": lambda: MadeWeight(lambda module, q: torch.linalg.inv(q), (8, 8)),
    "function": lambda: MadeWeight(
        lambda module, rows, columns: ScaledBases.apply(module.bases, rows, columns).sum(1), (8, 3), (3, 8)
    ),
}


@pytest.mark.filterwarnings("ignore::floptally.AssumptionWarning")
@pytest.mark.parametrize("name", ONLY_BACKWARD)
def test_a_matmul_that_only_the_backward_runs_counts_as_backward(name):
    cost = floptally.from_torch(ONLY_BACKWARD[name](), rows)
    model, batch = ONLY_BACKWARD[name](), {"lengths": [21] * 3, "measured": {"passes": 1}}
    seen = cost.flops(convention="torch_flop_counter_eager", **batch).useful
    assert any(one.kind == "gradient" for one in cost.entries)
    assert seen.forward == 2 * 63 * 64
    assert seen.total == counted_by_pytorch(model, rows(3, 21))
    forward = cost.flops(plan=floptally.Plan(phase="forward"), **batch)
    assert forward.useful.total == 2 * 63 * 64


def test_a_matmul_that_an_autograd_function_computes_again_counts_as_recompute():
    shapes = (8, 2), (2, 8), (8, 2), (2, 8)
    cost = floptally.from_torch(MadeWeight(lambda module, *weights: TwoProducts.apply(*weights), *shapes), rows)
    of_weights, of_layer = 2 * 2 * 8 * 2 * 8, 2 * 63 * 64
    work = cost.flops(lengths=[21] * 3, measured={"passes": 1}, plan=cost.plan)
    assert (work.useful.forward, work.useful.backward) == (of_weights + of_layer, 2 * of_weights + of_layer)
    assert work.executed.recompute == of_weights
    model = MadeWeight(lambda module, *weights: TwoProducts.apply(*weights), *shapes)
    assert work.useful.total + work.executed.recompute == counted_by_pytorch(model, rows(3, 21))
    assert cost.plan.recompute_components == ["MadeWeight.recomputed"]


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["LOHA", "BOFT", "PSOFT", "RANDLORA", "OFT"])
def test_peft_adapters_that_multiply_weights_count_the_flops_that_pytorch_counts(name):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")

    def adapted():
        sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, vocab_size=50))
        kind = peft.mapping.PEFT_TYPE_TO_CONFIG_MAPPING[name]
        return peft.get_peft_model(model, kind(target_modules=["q_proj", "v_proj"]))

    def inputs(batch, length):
        return {"input_ids": torch.ones(batch, length, dtype=torch.long)}

    cost = floptally.from_torch(adapted(), inputs)
    work = cost.flops(convention="torch_flop_counter", lengths=[21] * 3, measured={"passes": 1}, plan=cost.plan)

    class Logits(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = adapted()

        def forward(self, ids):
            return self.inner(input_ids=ids).logits

    assert work.useful.total + work.executed.recompute == counted_by_pytorch(Logits(), inputs(3, 21)["input_ids"])


# Keys.


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"masks": {"decoder.*": Mask.causal()}}, "^masks: has the key 'decoder.*', which matches no module that attends"),
        ({"components": {"blocks.*.linaer": "mlp"}}, "^components: .* did you mean .*linear"),
        ({"terms": {"linaer": "router"}}, "^terms: .* did you mean linear"),
        ({"formulas": {torch._int_mm: lambda *_, **__: 0}}, "^formulas: has the key _int_mm, an operator that the model did not run; did you mean .*mm"),
        ({"formulas": {"mm": lambda *_, **__: 0}}, "^formulas: has the key 'mm', which is not an operator"),
        ({"formulas": {nn.Linear: lambda *_, **__: 0}}, "^formulas: has the key .*Linear.*, which is not an operator"),
    ],
)
def test_a_custom_flop_formula_for_an_unknown_operator_is_an_error_that_suggests_the_nearest_name(options, text):
    with pytest.raises(floptally.Error, match=text):
        floptally.from_torch(After(), rows, **options)


# Inputs.


@dataclasses.dataclass(frozen=True)
class Batch:
    x: torch.Tensor
    kind: str = "plain"


Named = collections.namedtuple("Named", "x kind")


class Keyed(dict):
    """A mapping whose values are attributes too, as those of transformers are."""

    __getattr__ = dict.__getitem__


class OfBatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, batch):
        assert batch.kind == "plain"
        return self.linear(batch.x)


@pytest.mark.parametrize("kind", [Batch, Named, lambda x, kind: Keyed(x=x, kind=kind)])
def test_tensors_inside_dataclasses_and_mappings_and_namedtuples_of_the_example_input_are_resized(kind):
    example = {"batch": kind(torch.zeros(2, 9, 8), "plain")}
    cost = floptally.from_torch(OfBatch(), example)
    assert cost.flops(lengths=[5, 12]).total == 17 * OF_DATA
    assert floptally.verify(OfBatch(), example).pytorch == 2 * 9 * OF_DATA


def test_an_example_input_object_whose_tensors_cannot_be_resized_is_an_error():
    example = {"batch": types.SimpleNamespace(x=torch.zeros(2, 9, 8), kind="plain"), "y": torch.zeros(2, 9, 8)}
    with pytest.raises(floptally.Error, match="^example_inputs: has a SimpleNamespace with the tensor x, which cannot be resized"):
        floptally.from_torch(OfBatch(), example)


# Caches outside of the module, and states.


@functools.lru_cache(maxsize=None)
def causal_of_all(length):
    return torch.ones(length, length).tril()


@functools.lru_cache(maxsize=8)
def causal_of_few(length):
    return torch.ones(length, length).tril()


KNOWN = {}
LISTED = []


def causal_of_dict(length):
    if length not in KNOWN:
        KNOWN[length] = torch.ones(length, length).tril()
    return KNOWN[length]


def causal_of_list(length):
    for one in LISTED:
        if len(one) == length:
            return one
    LISTED.append(torch.ones(length, length).tril())
    return LISTED[-1]


class OfClass:
    known = {}

    @classmethod
    def causal(cls, length):
        return cls.known.setdefault(length, (torch.ones(length, length).tril(), "causal"))[0]


class Attends(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.linear, self.mask = nn.Linear(8, 8), mask

    def forward(self, x):
        y = self.linear(x)
        return ((y @ y.mT).masked_fill(self.mask(x.shape[1]) == 0, float("-inf")).softmax(-1) @ y).sum(-1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mask", [causal_of_all, causal_of_few, causal_of_dict, causal_of_list, OfClass.causal])
def test_counting_leaves_no_fake_tensor_in_a_cache_outside_of_the_module(mask):
    model = Attends(mask)
    assert floptally.from_torch(model, rows).masks == [Mask.causal()]
    assert type(mask(32)) is torch.Tensor and type(mask(9)) is torch.Tensor
    float(model(torch.rand(2, 32, 8)).sum())
    floptally.verify(model, rows(2, 11))
    float(model(torch.rand(2, 11, 8)).sum())


def causal_of_variable(length):
    global LATEST
    LATEST = torch.ones(length, length).tril()
    return LATEST


class Holder:
    def causal(self, length):
        self.latest = torch.ones(length, length).tril()
        return self.latest


@pytest.mark.parametrize(
    ("mask", "place"), [(causal_of_variable, f"{__name__}.LATEST"), (functools.partial(Holder.causal, Holder), "Holder.latest")]
)
def test_a_fake_tensor_left_in_a_variable_outside_of_the_module_is_an_error_that_names_the_variable(mask, place):
    global LATEST
    try:
        with pytest.raises(floptally.Error, match=f"^model: keeps a tensor that floptally made for this count in .*{re.escape(place)}"):
            floptally._from_torch.from_torch(Attends(mask), rows)
    finally:
        LATEST = Holder.latest = None


@pytest.mark.parametrize("real", [False, True])
def test_the_copy_of_the_model_is_freed_when_its_count_returns(real, monkeypatch):
    copies = []
    for name in ("fake_copy", "real_copy"):
        made = getattr(_torch_trace, name)

        def noted(*args, made=made):
            copied = made(*args)
            copies.append(weakref.ref(copied))
            return copied

        monkeypatch.setattr(_torch_trace, name, noted)
    gc.disable()
    try:
        floptally.from_torch(SelfAttention(), rows, real=real)
        assert [copied() for copied in copies] == [None]
    finally:
        gc.enable()


def test_settings_and_random_state_that_a_model_changes_are_restored_after_counting():
    import random

    def careless(x):
        torch.manual_seed(random.randrange(9))
        torch.set_default_dtype(torch.bfloat16)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.backends.cuda.enable_flash_sdp(False)
        torch.set_grad_enabled(True)
        return x + torch.randn_like(x)

    for real in (False, True):
        assert floptally.from_torch(After(careless), rows, real=real).flops(lengths=[5]).total == 5 * OF_DATA


def test_counting_a_model_while_gradients_are_disabled_gives_the_flops_of_a_training_step():
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            assert floptally.from_torch(After(), rows).flops(lengths=[5]).total == 5 * OF_DATA


def test_counting_prints_no_traceback_when_the_model_refuses_a_length(capfd):
    class Short(After):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(300, 8)

        def forward(self, x):
            return super().forward(x + self.table.weight[: x.shape[1]])

    before = logging.getLogger("torch._subclasses.fake_tensor").level
    cost = floptally.from_torch(Short(), rows)
    assert any("looked at up to length 256" in note for note in cost.notes)
    assert logging.getLogger("torch._subclasses.fake_tensor").level == before
    assert capfd.readouterr().err == ""


def test_a_counting_error_inside_an_exception_handler_keeps_the_variables_of_the_handled_exception():
    def fails():
        remaining = torch.ones(3)
        raise ValueError(str(remaining))

    try:
        fails()
    except ValueError as handled:
        with pytest.raises(floptally.Error):
            floptally.from_torch(nn.LayerNorm(6), rows)
        assert handled.__traceback__.tb_next.tb_frame.f_locals["remaining"].tolist() == [1, 1, 1]


# Forward only.


def test_a_frozen_model_counts_only_its_forward():
    model = nn.Sequential(After(), SelfAttention()).requires_grad_(False)
    cost = floptally.from_torch(model, rows)
    assert any(note.startswith("forward only") for note in cost.notes)
    torch.backends.mha.set_fastpath_enabled(False)
    truth = counted_by_pytorch(model, rows(3, 11))
    torch.backends.mha.set_fastpath_enabled(True)
    work = cost.flops(lengths=[11] * 3, convention="torch_flop_counter").useful
    assert (work.forward, work.backward) == (truth, 0)


def test_a_module_that_detaches_its_output_counts_only_its_forward():
    cost = floptally.from_torch(After(lambda x: x.detach()), rows)
    work = cost.flops(lengths=[5]).useful
    assert (work.forward, work.backward) == (5 * 2 * 64, 0)


# Lengths and batches.


@pytest.mark.parametrize("fused", [False, True])
def test_attention_over_pooled_tokens_counts_pairs_of_pooled_tokens(fused):
    class Pooled(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(6, 18)

        def forward(self, x):
            q, k, v = self.qkv(x.unflatten(1, (-1, 2)).mean(2)).chunk(3, -1)
            if fused:
                return F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])
            return (q @ k.mT).softmax(-1) @ v

    inputs = lambda batch, length: torch.zeros(batch, length, 6)
    cost = floptally.from_torch(Pooled(), inputs, lengths=[32, 48, 80, 64, 96])
    convention = "torch_flop_counter" if fused else "torch_flop_counter_eager"
    for batch, length in ((3, 20), (1, 66)):
        pools = length // 2
        seen = cost.flops(lengths=[length] * batch, convention=convention)
        assert seen.total == counted_by_pytorch(Pooled(), torch.zeros(batch, length, 6))
        assert seen.useful.forward == batch * (pools * 2 * 6 * 18 + 2 * 2 * pools * pools * 6)


def test_each_length_passed_by_the_caller_is_also_used_as_a_number_of_keys_in_cross_attention():
    seen = set()

    class Crossed(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.kv = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x, y):
            seen.add((x.shape[1], y.shape[1]))
            kv = self.kv(y)
            return (self.q(x) @ kv.mT).softmax(-1) @ kv

    lengths = [32, 64, 96, 128, 160]
    floptally.from_torch(Crossed(), lambda batch, length, keys: (rows(batch, length), rows(batch, keys)), lengths=lengths)
    assert all(length % 32 == keys % 32 == 0 for length, keys in seen), seen


BRANCHES = {
    "at least 4": lambda x: x.shape[0] >= 4,
    "one": lambda x: x.size(0) == 1,
    "exactly 11": lambda x: x.shape[0] == 11,
    "multiples of 5": lambda x: x.size(0) % 5 == 0,
    "above 100": lambda x: len(x) > 100,
    "many tokens": lambda x: x.shape[0] * x.shape[1] == 32 * 50,
    "above a number of elements": lambda x: x.numel() > 8 * 32 * 40 and x.shape[1] < 100,
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_on_the_batch_size_is_an_error_that_names_the_module(name):
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x):
            for _ in range(9 if BRANCHES[name](x) else 0):
                x = self.linear(x)
            return self.linear(x)

    with pytest.raises(floptally.Error, match="^linear: addmm counts .* with .* samples"):
        floptally.from_torch(Branches(), rows)


def test_a_batch_size_that_a_model_refuses_gives_a_note():
    def even(x):
        if len(x) == 16:
            raise ValueError("sixteen")
        return x

    cost = floptally.from_torch(After(even), rows)
    assert "with 16 samples it does not run: ValueError: sixteen" in cost.notes
    assert cost.flops(lengths=[5]).total == 5 * OF_DATA


# Sharded parameters.


@pytest.fixture
def four_ranks():
    """A process group of four ranks of which this process is one, and which exchanges nothing."""
    distributed = torch.distributed
    if not distributed.is_available():
        pytest.skip("torch.distributed is not available")
    fake_pg = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    distributed.init_process_group("fake", store=fake_pg.FakeStore(), rank=0, world_size=4)
    yield distributed.init_device_mesh("cpu", (4,))
    distributed.destroy_process_group()


class TwoLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


def test_a_parallelized_module_counts_as_the_whole_module(four_ranks):
    from torch.distributed.tensor import distribute_module
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    whole = floptally.from_torch(TwoLayers(), rows)
    parallel = parallelize_module(TwoLayers(), four_ranks, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    for model in (parallel, distribute_module(TwoLayers(), four_ranks)):
        assert floptally.from_torch(model, rows).entries == whole.entries
        assert floptally.verify(model, rows(3, 11)).pytorch == counted_by_pytorch(TwoLayers(), rows(3, 11))
    with pytest.raises(floptally.Error, match="^real: must be False for sharded parameters"):
        floptally.from_torch(parallel, rows, real=True)


# Layers of quantizing libraries.


def test_quantized_layers_of_bitsandbytes_count_the_same_as_unquantized_layers():
    bitsandbytes = pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    kinds = (
        lambda: bitsandbytes.nn.Linear4bit(64, 32, quant_type="nf4", compute_dtype=torch.float32).to("cpu"),
        lambda: bitsandbytes.nn.Linear8bitLt(64, 32, has_fp16_weights=False).to("cpu"),
    )

    class Under(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer, self.head = layer.requires_grad_(False), nn.Linear(32, 4)

        def forward(self, x):
            return self.head(self.layer(x))

    inputs = lambda batch, length: torch.zeros(batch, length, 64)
    plain = floptally.from_torch(Under(nn.Linear(64, 32)), inputs)
    for kind in kinds:
        cost = floptally.from_torch(Under(kind()), inputs)
        assert cost.flops(lengths=[7, 30]).total == plain.flops(lengths=[7, 30]).total
        assert cost.parameters == plain.parameters


def test_quantized_layers_of_torchao_count_the_same_as_unquantized_layers():
    quantization = pytest.importorskip("torchao.quantization", reason="torchao is not installed")
    plain = floptally.from_torch(TwoLayers().requires_grad_(False), rows)
    for config in (quantization.Int8WeightOnlyConfig(), quantization.Int8DynamicActivationInt8WeightConfig()):
        model = TwoLayers().bfloat16()
        quantization.quantize_(model, config)
        inputs = lambda batch, length: torch.zeros(batch, length, 8, dtype=torch.bfloat16)
        cost = floptally.from_torch(model.requires_grad_(False), inputs)
        assert cost.flops(lengths=[7, 30]).total == plain.flops(lengths=[7, 30]).total
        assert cost.parameters == plain.parameters


# Work. The number of operators that run decides how long a count takes.


def steps_of(monkeypatch, model, inputs):
    """(batch, length, operators, True with a backward) of each step that from_torch runs."""
    from floptally import _torch_trace

    found, run, sizes = [], _torch_trace.run_step, []

    def sized(batch, length):
        sizes.append((batch, length))
        return inputs(batch, length)

    def recorded(*args):
        step = run(*args)
        found.append((*sizes[-1], step.operators, any(product.backward for product in step.products)))
        return step

    monkeypatch.setattr(_torch_trace, "run_step", recorded)
    floptally.from_torch(model, sized)
    return found


def test_counting_a_model_runs_recurrent_layers_only_at_a_few_short_lengths(monkeypatch):
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.head = nn.LSTM(8, 32, num_layers=2, batch_first=True), nn.Linear(32, 5)

        def forward(self, x):
            return self.head(self.inner(x)[0])

    steps = steps_of(monkeypatch, Recurrent(), rows)
    assert [step[:2] for step in steps if step[3]] == [(2, 7), (2, 9), (2, 11), (3, 17)]
    assert {step[1] for step in steps if not step[3]} == {7}  # other batches
    per_token = steps[0][2] / 7
    assert sum(step[2] for step in steps) <= 100 * per_token


def test_counting_a_model_of_a_billion_parameters_runs_few_steps_and_allocates_no_weights(monkeypatch):
    resource = pytest.importorskip("resource", reason="there is no peak of memory on Windows")

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = (one.unflatten(-1, (16, -1)).transpose(1, 2) for one in self.qkv(self.first(x)).chunk(3, -1))
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).flatten(2))
            return x + self.down(F.gelu(self.up(self.second(x))))

    with torch.device("meta"):
        model = nn.Sequential(nn.Embedding(50257, 2048), *(Block(2048) for _ in range(18)), nn.Linear(2048, 50257))
    bytes_of_weights = 4 * sum(one.numel() for one in model.parameters())
    assert bytes_of_weights > 4 * 10**9
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    before = peak()
    steps = steps_of(monkeypatch, model, lambda batch, length: torch.zeros(batch, length, dtype=torch.long))
    assert peak() - before < bytes_of_weights // 4
    assert [step[:2] for step in steps if step[3]] == [(2, 32), (2, 57), (2, 131), (3, 131101)]
    assert [step[:2] for step in steps if not step[3]] == [(7, 32)]
    assert max(step[2] for step in steps) == steps[0][2]  # no step runs more operators than the first
