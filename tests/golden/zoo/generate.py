# SPDX-License-Identifier: Apache-2.0
"""Counts tiny real models of transformers, run forward and backward under PyTorch's FlopCounterMode.

    pip install -r requirements.txt
    python generate.py [GROUP...]            # runs the cases of cases/GROUP.py (default: all), writes GROUP.json
    python generate.py --only TEXT [...]     # runs only ids that contain TEXT, keeps the other lines of the file
    python generate.py --check [...]         # writes nothing, compares with what is there
    python generate.py --facts TYPE...       # what there is to know about a model type before adding it

Without PyTorch and transformers, or with other versions of them, it says so and exits with status 77.

Every case starts from a config as a user would write it in config.json, goes through AutoConfig and the model's own
class, and runs in train mode. This program only writes what the real model counted: the independent count is the
library's, which zoo.test.cpp compares to the integer, for the config as written and for the resolved one, so

    counted = counted by the library in convention torch_flop_counter + the case's `differences`

How the counter counts: every mask is the full length x length; eager attention has a backward of 2x; the fused CPU
kernel has 2.5x; experts run eagerly, so every routed token is counted. Dropout and layerdrop are 0. Pixels and audio
need no gradient, so the first product of a tower has the gradient of its weight only.

To add a case: `def cases(case)` of a module in cases/ calls

    case("TYPE/what-it-shows", "ArchitectureClass", field=value, ..., _option=value, ...)

with the fields of config.json. The model type is the id's first part, or `model_type=`; the class is None where the
file has no `architectures`. A field that starts with an underscore is written with two. Then run the group, and tests/models/models_page.py.
Options:

    _attention=("eager",)  implementations to run; default: eager, and sdpa where the class supports it
    _shapes=((2, 11),)     (batch, length), or (batch, decoder length, encoder length) of an encoder-decoder
    _inputs=function       (config, batch, length), and the keywords that differences have (below): a dict of more
                           inputs, or other ones; None takes an input away
    _feed=feeds.pixels     a model with a vision or audio tower: the function of feeds.py that makes its inputs
    _samples=(run, run)    the runs of such a case, in place of the feed's own; feeds.py says what a run is
    _kwargs={...}          further arguments of forward
    _loss=["logits"]       the outputs that are summed, of a list or an object each; default: all logits, else last_hidden_state
    _class="Name"          build this class, whatever the config says
    _choices=True          input is (1, batch, length)
    _dropout=True          keep dropout and layerdrop as the config has them
    _pairs=False           leave the visible pairs away, where they cannot be told from the attention weights
    _pairs=True            record them of a feed's texts too, which are then all alike
    _pair_flops=function   (config): forward FLOPs of one pair of a layer, whose keys may then be others than the tokens
    _cached=((3, 5),)      (past, length): record also the visible pairs of a text behind so many cached tokens
    _no_resolved="reason"  the resolved config cannot be read back
    _unfrozen=True         weights that the class froze train too
    _note="text"           a remark for the reader of the JSON file
    _parameters=function   weights that this case's class keeps and never uses: (config) to {name: {"count": n, "why": text}}
    _differences=function  what this case executes beyond the exact count, besides its model type's

    case.like("GROUP", "TYPE/its-id", "what-it-shows", field=value, other=...)    as that case, but

A module's `DIFFERENCES = {model_type: function}` does the same for all cases of a type in the module. A function takes
(config, batch, length, fused), config being the object that the model ran with (with the class in `architectures`), and
encoder_length= of an encoder-decoder. With a feed it also takes what that says of its run, grids= and audio_frames=;
batch is then the number of texts, or without a text of images or clips, and length that of a text, or 0.

It returns {name: {"forward": n, "backward": n, "why": text}}, computed from the shapes; n is negative where the
implementation executes less. `fused` is True, False, or "mixed": some products of the run are in a fused attention
kernel and others are plain batched ones. The test then takes all cores as fused, so a core that ran plainly needs a
difference of -1 product in the backward.
"""

import argparse
import importlib
import inspect
import json
import logging
import os
import pathlib
import re
import sys
import tempfile
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = ((2, 11), (3, 7))
CROSS_SHAPES = ((2, 11, 5), (3, 7, 9))
GROUPS = sorted(path.stem for path in (HERE / "cases").glob("*.py"))

torch = transformers = FlopCounterMode = None


def skip(reason):
    """Exit status 77 is a skipped test."""
    print(f"skipped: {reason}")
    sys.exit(77)


def import_libraries():
    global torch, transformers, FlopCounterMode
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.filterwarnings("ignore")
    try:
        import torch
        import transformers
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError as missing:
        skip(f"{missing.name} cannot be imported; see requirements.txt")
    for pinned in (HERE / "requirements.txt").read_text().splitlines():
        package, _, version = pinned.partition("==")
        found = {"torch": torch, "transformers": transformers}.get(package)
        if found is not None and found.__version__.partition("+")[0] != version:
            skip(f"{package} is {found.__version__}, the zoo was counted with {version}")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)


# ---------------------------------------------------------------------------------------------------------------------
# The cases.


def read_group(group, seen):
    """The cases of cases/<group>.py; `seen` holds all before them, by id."""
    module = importlib.import_module("cases." + group)
    by_type = getattr(module, "DIFFERENCES", {})
    found = []

    def case(name, architecture, model_type=None, **config):
        model_type = model_type or name.split("/")[0]
        options = {key[1:]: config.pop(key) for key in list(config)
                   if key.startswith("_") and not key.startswith("__")}
        unknown = set(options) - set("attention shapes inputs feed samples kwargs loss class choices dropout pairs "
                                     "no_resolved note parameters differences pair_flops cached unfrozen".split())
        if unknown:
            sys.exit(f"{name}: unknown options {sorted(unknown)}")
        written = {"model_type": model_type}
        if architecture is not None:
            written["architectures"] = [architecture]
        written.update((key[1:] if key.startswith("__") else key, value) for key, value in config.items())
        if name in seen:
            sys.exit(f"{name}: the same id twice")
        for other in seen.values():
            if written == other["config"] and options == other["options"]:
                sys.exit(f"{name}: the same config as {other['id']}")
        functions = [by_type.get(model_type), options.get("differences")]
        seen[name] = {"id": name, "config": written, "options": options,
                      "differences": [function for function in functions if function is not None]}
        found.append(seen[name])

    def like(group, name, what, **changes):
        """The case `name` of another group, but: its id has `what` in place of its last part, ... takes a field away."""
        base = next(one for one in read_group(group, {}) if one["id"] == name)
        config = changed(base["config"], changes)
        case(f"{name.split('/')[0]}/{what}", (config.pop("architectures", None) or [None])[0], **config)
        found[-1].update(options={**base["options"], **found[-1]["options"]}, differences=base["differences"])

    case.like = like
    module.cases(case)
    return found


def changed(config, changes):
    """A config with other fields, those of a config inside it likewise; ... takes one away."""
    result = {name: value for name, value in config.items() if changes.get(name) is not ...}
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(config.get(name), dict):
            result[name] = changed(config[name], value)
        elif value is not ...:
            result[name] = value
    return result


# ---------------------------------------------------------------------------------------------------------------------
# The config.

# What of the resolved config cannot matter to a count: tokens, dropout, initialisation, numbers' formats, positions of
# no table, what forward returns.
IGNORED = set(
    "_name_or_path name_or_path _attn_implementation _experts_implementation attn_implementation "
    "experts_implementation transformers_version dtype torch_dtype label2id "
    "output_attentions output_hidden_states output_router_logits output_scores output_past return_dict "
    "return_dict_in_generate torchscript use_return_dict use_cache cache_implementation generation_config "
    "apply_spec_augment chunk_size_feed_forward problem_type tokenizer_class prefix task_specific_params "
    "finetuning_task "
    "initializer_range initializer_factor initializer_cutoff_factor init_std init_method_std init_xavier init_scale "
    "embed_init_std embedding_init_std attn_softmax_bf16 "
    "rope_theta rope_scaling rope_parameters rope_local_base_freq rope_interleave rope_interleaved rotary_pct "
    "rotary_emb_base partial_rotary_factor default_theta "
    "router_aux_loss_coef router_z_loss_coef router_jitter_noise aux_loss_alpha z_loss_coefficient "
    "rescale_prenorm_residual residual_in_fp32 "
    "begin_suppress_tokens suppress_tokens bad_words_ids length_penalty max_length min_length num_beams early_stopping "
    "no_repeat_ngram_size do_sample temperature top_k_generation repetition_penalty use_mems_train same_length "
    "time_step_limit time_step_min time_step_max time_step_floor".split()
)
IGNORED_ENDS = re.compile(r"_token_ids?$|_eps$|_epsilon$|_token_index$")


def without_ignored(value):
    if isinstance(value, dict):
        return {name: without_ignored(inner) for name, inner in value.items()
                if name not in IGNORED and "drop" not in name and not IGNORED_ENDS.search(name)}
    if isinstance(value, list):
        return [without_ignored(inner) for inner in value]
    return value


def resolve(config):
    resolved = without_ignored(json.loads(config.to_json_string(use_diff=False)))
    if resolved.get("id2label") == {"0": "LABEL_0", "1": "LABEL_1"}:
        del resolved["id2label"]
    return resolved


def parts(config):
    """The config and the configs inside it."""
    yield config
    for value in list(vars(config).values()):
        if isinstance(value, transformers.PreTrainedConfig):
            yield from parts(value)


def load(written, keep_dropout):
    """The config object, read as AutoConfig reads a config.json; dropout to 0, experts eager, no cache."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(written))
        config = transformers.AutoConfig.from_pretrained(folder)
    for part in parts(config):
        for name, value in list(vars(part).items()):
            if "drop" in name and isinstance(value, float) and not keep_dropout:
                setattr(part, name, 0.0)
        if getattr(part, "use_cache", None) is not None:
            part.use_cache = False
        part._experts_implementation = "eager"
        if hasattr(part, "mask_time_prob"):
            part.apply_spec_augment = False
    return config


def model_class(item):
    written = item["config"]
    read = load(written, True)
    name = item["options"].get("class")
    if name is None and "architectures" in written and read.model_type == written["model_type"]:
        name = written["architectures"][0]
    if name is not None:
        if hasattr(transformers, name):
            return getattr(transformers, name)
        return getattr(importlib.import_module(modeling_module(type(read))), name)
    for auto in (transformers.AutoModelForCausalLM, transformers.AutoModelForMaskedLM,
                 transformers.AutoModelForSeq2SeqLM, transformers.AutoModel):
        if type(read) in auto._model_mapping:
            return auto._model_mapping[type(read)]
    raise ValueError("no class is known for " + type(read).__name__)


def modeling_module(config_class):
    return config_class.__module__.replace(".configuration_", ".modeling_")


# ---------------------------------------------------------------------------------------------------------------------
# The run.


def counts(mode):
    operators = mode.get_flop_counts().get("Global", {})
    return {str(operator).removeprefix("aten."): count for operator, count in sorted(operators.items(), key=str)}


OUTPUTS = ("logits", "prediction_logits", "seq_relationship_logits", "mc_logits", "start_logits", "end_logits")


def build(item, built, attention):
    config = load(item["config"], item["options"].get("dropout", False))
    if not isinstance(config, built.config_class):
        config = next((part for part in parts(config) if isinstance(part, built.config_class)), config)
    torch.manual_seed(0)
    model = built._from_config(config, attn_implementation=attention).train()
    return model.requires_grad_(True) if item["options"].get("unfrozen") else model


def forward_names(model):
    return inspect.signature(model.forward).parameters


def is_cross(model):
    """An encoder-decoder: two lengths."""
    return bool(getattr(model.config, "is_encoder_decoder", False)) and "decoder_input_ids" in forward_names(model)


def inputs_of(model, options, batch, length, cross):
    """`cross` is {"encoder_length": n} of an encoder-decoder, else {}."""
    text = model.config.get_text_config()
    vocabulary = getattr(text, "vocab_size", None) or 61
    low = 5 if vocabulary > 10 else 0  # the first ones are often special

    def tokens(count):
        ids = torch.randint(low, vocabulary - 1, (batch, count))
        return ids[None] if options.get("choices") else ids

    names = forward_names(model)
    inputs = {}
    if "input_ids" in names:
        inputs["input_ids"] = tokens(cross.get("encoder_length", length))
    if cross:
        inputs["decoder_input_ids"] = tokens(length)
    if "use_cache" in names:
        inputs["use_cache"] = False
    inputs.update(options.get("kwargs", {}))
    if "inputs" in options:
        inputs.update(options["inputs"](model.config, batch, length, **cross))
    return {name: value for name, value in inputs.items() if value is not None}


def visible_pairs(model, inputs, options, length, cross):
    """{"pairs": of every layer, "of": what is a full mask's} from the attention weights, or {}; `of` where it differs
    from length x length."""
    if options.get("dropout") or not options.get("pairs", True):
        return {}
    encoder = cross.get("encoder_length")
    expected = {"encoder_attentions": (encoder, encoder), "decoder_attentions": (length, length),
                "cross_attentions": (length, encoder)} if cross else {"attentions": (length, length)}
    try:
        with torch.no_grad():
            outputs = model(**inputs, output_attentions=True)
    except TypeError:  # a class without output_attentions
        return {}
    pairs, full = [], []
    for name, shape in expected.items():
        layers = outputs.get(name) if hasattr(outputs, "get") else None
        if "pair_flops" in options:
            return {"pairs": counted_pairs(layers), "pair_flops": options["pair_flops"](model.config)}
        if not layers or any(layer is None or layer.dim() != 4 or tuple(layer.shape[2:]) != shape for layer in layers):
            return {}
        pairs += counted_pairs(layers)
        full += [shape[0] * shape[1]] * len(layers)
    return {"pairs": pairs, "of": full} if cross else {"pairs": pairs}


def counted_pairs(layers):
    """Of each layer, by its attention weights: in every head and sequence the same number."""
    pairs = []
    for layer in layers:
        seen = (layer != 0).flatten(0, 1).sum((1, 2))
        if not bool((seen == seen[0]).all()):
            raise ValueError("heads or sequences differ in their visible pairs: give _pairs=False and a reason")
        pairs.append(int(seen[0]))
    return pairs


def cached_pairs(item, built):
    """The visible pairs of texts behind cached tokens."""
    entries = []
    for past, length in item["options"].get("cached", ()):
        model = build(item, built, "eager")
        inputs = {**inputs_of(model, item["options"], 2, past, {}), "use_cache": True}
        with torch.no_grad():
            before = model(**inputs)
            inputs = {**inputs_of(model, item["options"], 2, length, {}), "use_cache": True,
                      "past_key_values": before.past_key_values}
            layers = model(**inputs, output_attentions=True).attentions
        entries.append({"past": past, "length": length, "pairs": counted_pairs(layers),
                        "pair_flops": item["options"]["pair_flops"](model.config)})
    return entries


def fed(model, options, shape):
    """The inputs that a feed gives, and what the entry of its run has of shapes."""
    inputs, record = options["feed"](model, shape)
    lengths = record["lengths"]
    if len(set(lengths)) > 1:
        raise ValueError("a feed fills every text to the same length")
    batch, length = len(lengths or record.get("grids") or record["audio_frames"]), lengths[0] if lengths else 0
    inputs.update(options.get("kwargs", {}))
    if "inputs" in options:
        inputs.update(options["inputs"](model.config, batch, length, **extras(record)))
    if "use_cache" not in forward_names(model):
        inputs.pop("use_cache", None)
    return ({name: value for name, value in inputs.items() if value is not None},
            {"batch": batch, "length": length, **record})


def extras(shapes):
    """What functions of a case take beside batch and length."""
    return {name: value for name, value in shapes.items() if name not in ("batch", "length", "lengths")}


def leaves(value):
    """The tensors of lists and objects."""
    if isinstance(value, dict):
        value = list(value.values())
    return [one for several in value for one in leaves(several)] if isinstance(value, (list, tuple)) else [value]


def run(item, built, attention, shape):
    options = item["options"]
    model = build(item, built, attention)
    if "feed" in options:
        inputs, shapes = fed(model, options, shape)
        cross = extras(shapes)
    else:
        cross = {"encoder_length": shape[2]} if len(shape) > 2 else {}
        shapes = {"batch": shape[0], "length": shape[1], **cross}
        inputs = inputs_of(model, options, shape[0], shape[1], cross)
    batch, length = shapes["batch"], shapes["length"]
    with FlopCounterMode(display=False) as forward:
        outputs = model(**inputs)
    names = options.get("loss") or [name for name in OUTPUTS if outputs.get(name) is not None] or ["last_hidden_state"]
    made = [outputs[name] for name in names]
    loss = sum(one.sum() for one in leaves(made))
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    operators = {"forward": counts(forward), "backward": counts(backward)}
    kernel = any("scaled_dot_product" in name for name in operators["forward"])
    plain = not {"bmm", "baddbmm"}.isdisjoint([*operators["forward"], *operators["backward"]])
    entry = {**shapes, "attention": attention,
             "fused": "mixed" if kernel and plain else kernel,
             "forward": sum(operators["forward"].values()), "backward": sum(operators["backward"].values()),
             "operators": operators}
    if attention == "eager" and options.get("pairs", "feed" not in options):
        entry.update(visible_pairs(model, inputs, options, length, {} if "feed" in options else cross))
    config = model.config
    config.architectures = [built.__name__]
    entry["differences"] = {}
    for function in item["differences"]:
        for name, difference in function(config, batch, length, entry["fused"], **cross).items():
            if set(difference) != {"forward", "backward", "why"} or name in entry["differences"]:
                raise ValueError(f"difference {name}: needs forward, backward and why, and a name of its own")
            if difference["forward"] or difference["backward"]:
                entry["differences"][name] = difference
    parameters = sum(parameter.numel() for parameter in model.parameters())
    unreached = sorted(name for name, value in model.named_parameters() if value.grad is None)
    return entry, names, parameters, unreached


def describe(item):
    written, options = item["config"], item["options"]
    built = model_class(item)
    read = load(written, True)
    described = {"id": item["id"], "model_type": written["model_type"], "class": built.__name__, "config": written}
    if "no_resolved" in options:
        described["no_resolved"] = options["no_resolved"]
    else:
        described["resolved"] = resolve(read)
    runs = []
    for attention in options.get("attention", ("eager", "sdpa") if built._supports_sdpa else ("eager",)):
        if "feed" in options:
            shapes = options.get("samples") or options["feed"].runs
        else:
            shapes = options.get("shapes") or (CROSS_SHAPES if is_cross(build(item, built, attention)) else SHAPES)
        for shape in shapes:
            entry, names, parameters, unreached = run(item, built, attention, shape)
            runs.append(entry)
    described["loss"] = names
    described["parameters"] = parameters
    if "parameters" in options:
        described["unused_parameters"] = options["parameters"](read)
    notes = [options["note"]] if "note" in options else []
    if options.get("choices"):
        described["input"] = "1 x batch x length: batch sequences are the choices of one question"
    if options.get("dropout"):
        notes.append("attention dropout is kept, so scaled_dot_product_attention does not fuse on a CPU")
    if read.model_type != written["model_type"]:
        notes.append(f"AutoConfig reads this {written['model_type']} as {read.model_type}")
    if notes:
        described["note"] = "; ".join(notes)
    if unreached:
        described["without_gradient"] = unreached
    if "cached" in options:
        described["cached"] = cached_pairs(item, built)
    described["runs"] = runs
    return described


# ---------------------------------------------------------------------------------------------------------------------
# The files.


def group_file(group):
    return HERE / (group + ".json")


def lines_of(group):
    """{id: line} of <group>.json."""
    if not group_file(group).exists():
        return {}
    rows = [row.rstrip(",") for row in group_file(group).read_text().splitlines()[1:-1]]
    return {json.loads(row)["id"]: row for row in rows}


def write_lines(group, lines):
    group_file(group).write_text("[\n" + ",\n".join(lines) + "\n]\n")


def generate(groups, only, check_only):
    import_libraries()
    sys.path.insert(0, str(HERE))
    seen, wrong, total = {}, [], 0
    items = {group: read_group(group, seen) for group in GROUPS if group in groups or not only}
    for group in groups:
        before = lines_of(group)
        lines = {}
        for item in items[group]:
            name = item["id"]
            if only not in name:
                if name in before:
                    lines[name] = before[name]
                continue
            total += 1
            try:
                lines[name] = json.dumps(describe(item), separators=(",", ":"))
            except Exception:
                wrong.append(name)
                traceback.print_exc()
                if name in before:
                    lines[name] = before[name]
                continue
            same = before.get(name) == lines[name]
            print(name, "equal" if same else "DIFFERENT" if name in before else "new", file=sys.stderr)
            if check_only and not same:
                wrong.append(name)
        if check_only and not only:
            wrong += [name for name in before if name not in lines]
        elif not check_only:
            write_lines(group, lines.values())
    print(f"{total} cases" + ("" if not wrong else f", {len(wrong)} WRONG: " + " ".join(wrong)))
    return 1 if wrong else 0


# ---------------------------------------------------------------------------------------------------------------------
# Before a model type is added.


def facts(model_type):
    config = transformers.AutoConfig.for_model(model_type)
    lines = [f"{model_type}: {type(config).__name__}", f"configuration: {inspect.getfile(type(config))}"]
    modeling = pathlib.Path(inspect.getfile(type(config)).replace("configuration_", "modeling_"))
    if modeling.exists():
        classes = re.findall(r"^class (\w+)", modeling.read_text(), re.MULTILINE)
        wanted = [name for name in classes if re.search(r"For[A-Z]\w*$|Model$|LMHead\w*$", name)]
        lines += [f"modeling: {modeling}", "classes: " + " ".join(wanted)]
    lines.append("attribute_map: " + json.dumps(config.attribute_map))
    lines.append("defaults:")
    for name, value in without_ignored(json.loads(config.to_json_string(use_diff=False))).items():
        lines.append(f"  {name}: {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", nargs="*", help="default: all of " + " ".join(GROUPS))
    parser.add_argument("--check", action="store_true", help="compare with the files that are there, write nothing")
    parser.add_argument("--only", default="", help="only ids that contain this")
    parser.add_argument("--facts", nargs="+", metavar="TYPE", help="print what is known of these model types")
    arguments = parser.parse_args()
    if arguments.facts:
        import_libraries()
        print("\n".join(facts(name) for name in arguments.facts), end="")
        return 0
    unknown = set(arguments.group) - set(GROUPS)
    if unknown:
        parser.error(f"no such group: {' '.join(sorted(unknown))}")
    return generate(arguments.group or GROUPS, arguments.only, arguments.check)


if __name__ == "__main__":
    sys.exit(main())
