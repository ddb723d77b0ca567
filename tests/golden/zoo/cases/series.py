# SPDX-License-Identifier: Apache-2.0
"""Series of numbers and of steps, of sizes that are drawn at random: timesfm and its family, patchtst, patchtsmixer,
time_series_transformer, informer, autoformer, decision_transformer."""

import feeds
from draws import drawn


@feeds.feed(2, 3)
def patches_of_series(model, count):
    """timesfm: series of the config's context. A run is their number."""
    import torch
    config = model.config
    tokens = config.context_length // config.patch_length
    values = torch.randn(count, config.context_length)
    names = model.forward.__code__.co_varnames
    inputs = {"past_values": list(values) if "force_flip_invariance" in dir(config) or "Prediction" in type(model).__name__ else values}
    if type(model).__name__.endswith("Model") and type(model).__name__.startswith("TimesFm"):
        inputs = {"past_values": values, "past_values_padding": torch.zeros(count, config.context_length)}
    if config.model_type == "timesfm":
        freq = torch.zeros(count, dtype=torch.long)
        inputs["freq"] = freq if "Prediction" in type(model).__name__ else freq[:, None]
    return inputs, {"lengths": [tokens] * count, "grids": []}


def timesfm(draw):
    heads = draw.size(2, 4)
    side = draw.size(2, 4)
    kind = draw.turn("ModelForPrediction", "Model")
    return {"class": "TimesFm" + kind, "hidden_size": draw.size(8, 20, of=2), "intermediate_size": draw.size(9, 40),
            "num_hidden_layers": draw.size(1, 3), "num_attention_heads": heads, "head_dim": draw.size(2, 6, of=2),
            "patch_length": side, "context_length": side * draw.size(3, 6), "horizon_length": draw.size(2, 5),
            "freq_size": draw.size(1, 4), "quantiles": [0.1, 0.5, 0.9][:draw.size(1, 3)],
            "use_positional_embedding": draw.flag(), "_feed": patches_of_series,
            "_loss": ["full_predictions"] if kind != "Model" else ["last_hidden_state"], "_attention": ("eager",)}


def timesfm2_5(draw):
    config = timesfm(draw)
    config["class"] = config["class"].replace("TimesFm", "TimesFm2_5")
    for name in ("freq_size", "use_positional_embedding", "_attention"):
        del config[name]
    heads = config["num_attention_heads"]
    if draw.place == 4:
        config.update({"class": None, "_class": config["class"]})
    return {**config, "num_key_value_heads": draw.choice([heads, 1]), "attention_bias": draw.turn(True, False, False), "use_bias": draw.flag(),
            "use_continuous_quantile_head": draw.flag(), "force_flip_invariance": draw.turn(True, True, False, False), "decode_index": 1,
            "output_quantile_len": config["horizon_length"] + draw.size(0, 3), "infer_is_positive": False}


@feeds.feed((2, 9), (3, 5))
def steps(model, run):
    """decision_transformer: a run is (episodes, steps of each)."""
    import torch
    count, length = run
    config = model.config
    return ({"states": torch.randn(count, length, config.state_dim), "actions": torch.randn(count, length, config.act_dim),
             "returns_to_go": torch.randn(count, length, 1), "timesteps": torch.arange(length).expand(count, length),
             "attention_mask": torch.ones(count, length)},
            {"lengths": [3 * length] * count, "grids": [], "measured": {"steps": count * length}})


def decision(draw):
    heads = draw.size(1, 3)
    return {"class": "DecisionTransformerModel", "hidden_size": heads * draw.size(4, 9), "n_head": heads,
            "n_layer": draw.size(1, 3), "n_inner": draw.choice([None, 30]), "n_positions": draw.size(40, 60),
            "state_dim": draw.size(2, 9), "act_dim": draw.size(2, 9), "max_ep_len": draw.size(20, 40), "_feed": steps,
            "_loss": ["state_preds", "action_preds", "return_preds"]}


def moments(config, batch, length, encoder_length):
    """Random moments of a series, its features, and the future."""
    import torch
    past = config.context_length + max(config.lags_sequence)
    several = (config.input_size,) if config.input_size > 1 else ()
    inputs = {"past_values": torch.randn(batch, past, *several), "past_observed_mask": torch.ones(batch, past, *several),
              "past_time_features": torch.randn(batch, past, config.num_time_features + config.num_dynamic_real_features),
              "future_time_features": torch.randn(batch, length, config.num_time_features + config.num_dynamic_real_features),
              "future_values": torch.randn(batch, length, *several)}
    if config.num_static_categorical_features:
        inputs["static_categorical_features"] = torch.zeros(batch, config.num_static_categorical_features, dtype=torch.long)
    if config.num_static_real_features:
        inputs["static_real_features"] = torch.randn(batch, config.num_static_real_features)
    return inputs


@feeds.feed(2, 3)
def series(model, batch):
    """time_series_transformer: a run is a number of series, of the lengths that the config says."""
    config = model.config
    past, future = config.context_length, config.prediction_length
    return moments(config, batch, future, past), {"lengths": [future] * batch, "grids": [], "encoder_length": past}


def time_series(draw):
    kind = draw.turn("ForPrediction", "Model")
    named = draw.size(0, 2)
    config = {"class": "TimeSeriesTransformer" + kind, "prediction_length": draw.size(2, 6), "d_model": draw.size(4, 9, of=6),
              "input_size": draw.size(1, 2), "lags_sequence": [1, 2, 4][:draw.size(1, 3)],
              "num_time_features": draw.size(1, 3), "num_dynamic_real_features": draw.size(0, 2),
              "num_static_real_features": draw.size(0, 2), "num_static_categorical_features": named,
              "distribution_output": draw.turn("student_t", "student_t", "normal", "normal"),
              "encoder_layers": draw.size(1, 3), "decoder_layers": draw.size(1, 3), "encoder_attention_heads": draw.choice([2, 3]),
              "decoder_attention_heads": draw.choice([2, 3]), "encoder_ffn_dim": draw.size(9, 40),
              "decoder_ffn_dim": draw.size(9, 40), "_feed": series, "_loss": ["params"] if kind != "Model" else ["last_hidden_state"],
              "_attention": ("eager",)}
    if named:
        config.update(cardinality=draw.some(named, 3, 4), embedding_dimension=draw.some(named, 2, 3))
    if draw.flag():
        config["context_length"] = draw.size(3, 8)
    return config


@feeds.feed(2, 3)
def channels(model, batch):
    """patchtst: a run is a number of series, each of whose channels is a sequence of patches."""
    import torch
    config = model.config
    count = (max(config.context_length, config.patch_length) - config.patch_length) // config.patch_stride + 1
    inputs = {"past_values": torch.randn(batch, config.context_length, config.num_input_channels)}
    return inputs, {"lengths": [count] * (batch * config.num_input_channels), "grids": []}


def patchtst(draw):
    kind = draw.turn("ForPrediction", "Model", "ForPretraining")
    heads, side = draw.size(2, 4), draw.size(2, 5)
    loss = "mse" if draw.place == 0 else draw.choice(["mse", "nll"]) if draw.place % 3 else "nll"
    output = {"ForPrediction": ["prediction_outputs"], "Model": ["last_hidden_state"], "ForPretraining": ["prediction_output"]}[kind]
    return {"class": "PatchTST" + kind, "num_input_channels": draw.size(1, 3), "patch_length": side, "patch_stride": draw.size(1, side),
            "context_length": side * draw.size(3, 6), "d_model": heads * draw.size(2, 5, of=2), "num_attention_heads": heads,
            "num_hidden_layers": draw.size(1, 3), "ffn_dim": draw.size(9, 40), "bias": draw.flag(), "pre_norm": draw.flag(),
            "norm_type": draw.choice(["batchnorm", "layernorm"]), "pooling_type": draw.choice([None, "mean", "max"]),
            "loss": loss, "distribution_output": draw.turn("student_t", "normal"), "prediction_length": draw.size(2, 6),
            "positional_encoding_type": draw.choice(["sincos", "random"]), "_feed": channels, "_loss": output,
            "_attention": ("eager",)}


def informer(draw):
    return {**renamed(time_series(draw), "Informer"), "attention_type": draw.turn("prob", "prob", "full"),
            "sampling_factor": draw.size(1, 3), "distil": draw.turn(True, True, False, True), "context_length": draw.size(3, 24)}


def autoformer(draw):
    config = renamed(time_series(draw), "Autoformer")
    past = draw.size(5, 12)
    if config["class"] == "AutoformerModel":
        config["_loss"] = ["last_hidden_state", "trend"]
    return {**config, "context_length": past, "label_length": draw.size(2, past - 1), "moving_average": draw.choice([3, 5]),
            "autocorrelation_factor": 1}


def renamed(config, prefix):
    return {**config, "class": config["class"].replace("TimeSeriesTransformer", prefix)}


@feeds.feed(2, 3)
def patches_of_channels(model, batch):
    """patchtsmixer: a run is a number of series, whose tokens are the patches of all channels."""
    import torch
    config = model.config
    inputs = {"past_values": torch.randn(batch, config.context_length, config.num_input_channels)}
    return inputs, {"lengths": [config.num_patches * config.num_input_channels] * batch, "grids": []}


def patchtsmixer(draw):
    kind = draw.turn("ForPrediction", "Model", "ForPretraining", "ForTimeSeriesClassification", "ForRegression")
    heads, side = draw.size(2, 4), draw.size(2, 5)
    output = {"ForPrediction": ["prediction_outputs"], "Model": ["last_hidden_state"], "ForPretraining": ["prediction_outputs"],
              "ForTimeSeriesClassification": ["prediction_outputs"], "ForRegression": ["regression_outputs"]}[kind]
    return {"class": "PatchTSMixer" + kind, "num_input_channels": draw.size(1, 4), "patch_length": side,
            "patch_stride": draw.size(1, side), "context_length": side * draw.size(3, 6), "d_model": heads * draw.size(2, 5, of=2),
            "self_attn_heads": heads, "self_attn": draw.flag(), "num_layers": draw.size(1, 3), "expansion_factor": draw.size(1, 3),
            "mode": draw.choice(["mix_channel", "common_channel"]), "gated_attn": draw.flag(),
            "norm_mlp": draw.choice(["BatchNorm", "LayerNorm"]), "use_positional_encoding": draw.flag(),
            "positional_encoding_type": draw.choice(["random", "sincos"]), "scaling": {3: "std", 4: False, 8: None, 9: "mean"}.get(draw.place, True),
            "loss": draw.turn("mse", "nll"),
            "distribution_output": {5: "student_t", 9: "normal"}.get(draw.place, draw.choice(["student_t", "negative_binomial"])),
            "prediction_length": draw.size(2, 6), "num_targets": draw.size(1, 5),
            "head_aggregation": None if draw.place in (3, 9) else draw.choice(["max_pool", "use_last", "avg_pool"]), "_feed": patches_of_channels, "_loss": output,
            "_attention": ("eager",)}


def cases(case):
    drawn(case, "patchtsmixer", 14, patchtsmixer)
    drawn(case, "informer", 8, informer)
    drawn(case, "autoformer", 6, autoformer)
    drawn(case, "timesfm", 4, timesfm)
    drawn(case, "timesfm2_5", 6, timesfm2_5)
    drawn(case, "decision_transformer", 3, decision)
    drawn(case, "time_series_transformer", 6, time_series)
    drawn(case, "patchtst", 9, patchtst)
