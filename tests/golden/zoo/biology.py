# SPDX-License-Identifier: Apache-2.0
"""Counts small random models of biology, run forward and backward under PyTorch's FlopCounterMode.

    pip download --no-deps boltz==2.2.1 protenix==2.0.0 openfold3==0.5.0    # and unpack them into one folder, with scipy,
                                                                           # einops, ml_collections and absl-py
    python biology.py FOLDER [CLASS...]                                     # writes biology.json
    python biology.py --check [FOLDER]                                      # compares; FLOPTALLY_BIOLOGY is the folder, too

As diffusion.py does, whose `run` it takes: each function draws sizes and flags from a seed, its name and a number. What
the packages import beside torch and no product needs (trainers, metrics, chemistry) is stood in for. A run's `grids` are
the tokens of each sample, its `texts` the rows of the alignment and the atoms.
"""

import copy
import importlib.abc
import importlib.machinery
import json
import os
import pathlib
import random
import sys
import types

import diffusion

try:
    import torch
    from torch.utils.flop_counter import FlopCounterMode
except ImportError as missing:
    diffusion.skip(f"{missing.name} cannot be imported")

DRAWS = 8
STOOD_IN = {"fairscale", "pytorch_lightning", "torchmetrics", "rdkit", "mashumaro", "gemmi", "numba", "Bio", "redis", "einx",
            "hydra", "pandas", "chembl_structure_pipeline", "wandb", "biotite", "optree"}


class Absent:
    """Whatever a package that is not there has: a class, a function or a number that nobody asks for."""

    def __init__(self, *arguments, **named):
        pass

    def __call__(self, *arguments, **named):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()

    def __class_getitem__(cls, of):
        return cls


def absent_of(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Absent


class Trained(torch.nn.Module):
    def save_hyperparameters(self, *names):
        pass


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        known = name.partition(".")[0] in STOOD_IN
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec):
        made = types.ModuleType(spec.name)
        made.__path__, made.__version__ = [], "0"
        made.__getattr__ = absent_of
        made.LightningModule = Trained
        made.checkpoint_wrapper = lambda module, **named: module
        return made

    def exec_module(self, module):
        pass


def flag(choose):
    return choose.random() < 0.5


# ---- Boltz ----

def boltz_sizes(choose):
    """Sizes that both versions have, with few atoms in a window."""
    return dict(atom_s=4 * choose.randint(1, 3), atom_z=choose.randint(2, 6), token_s=8 * choose.randint(1, 3),
                token_z=choose.randint(4, 12), num_bins=choose.randint(3, 9), atoms_per_window_queries=4,
                atoms_per_window_keys=choose.choice([4, 8, 12]))


def boltz_features(choose, const, sizes, batch, tokens, rows, atoms):
    whole = torch.zeros(batch, tokens, dtype=torch.long)
    owner = torch.randint(0, tokens, (batch, atoms))
    kinds = const.num_tokens
    return {"res_type": torch.nn.functional.one_hot(torch.randint(0, kinds, (batch, tokens)), kinds).float(),
            "profile": torch.rand(batch, tokens, kinds), "deletion_mean": torch.rand(batch, tokens),
            "pocket_feature": torch.zeros(batch, tokens, len(const.pocket_contact_info)),
            "asym_id": whole, "residue_index": torch.arange(tokens).expand(batch, -1), "entity_id": whole,
            "token_index": torch.arange(tokens).expand(batch, -1), "sym_id": whole, "cyclic_period": whole,
            "token_bonds": torch.zeros(batch, tokens, tokens, 1), "token_pad_mask": torch.ones(batch, tokens),
            "msa": torch.nn.functional.one_hot(torch.randint(0, kinds, (batch, rows, tokens)), kinds).float(),
            "has_deletion": torch.zeros(batch, rows, tokens), "deletion_value": torch.zeros(batch, rows, tokens),
            "msa_paired": torch.zeros(batch, rows, tokens), "msa_mask": torch.ones(batch, rows, tokens),
            "ref_pos": torch.randn(batch, atoms, 3), "ref_charge": torch.zeros(batch, atoms),
            "ref_element": torch.zeros(batch, atoms, sizes["atom_feature_dim"] - 5 - 256),
            "ref_atom_name_chars": torch.zeros(batch, atoms, 4, 64), "ref_space_uid": torch.zeros(batch, atoms, dtype=torch.long),
            "atom_pad_mask": torch.ones(batch, atoms), "coords": torch.randn(batch, 1, atoms, 3),
            "atom_to_token": torch.nn.functional.one_hot(owner, tokens)}


def confidence_sizes(choose, heads, **more):
    """The confidence module's, and features that its scores read."""
    return dict(num_dist_bins=choose.randint(3, 9), **{f"add_{what}": flag(choose) for what in ("s_to_z_prod", "s_input_to_s", "z_input_to_z")},
                pairformer_args=dict(num_blocks=choose.randint(1, 2), num_heads=heads, dropout=0.0, pairwise_head_width=choose.randint(2, 5),
                                     pairwise_num_heads=choose.randint(1, 3), no_update_s=flag(choose)),
                confidence_args=dict(num_plddt_bins=choose.randint(3, 9), num_pde_bins=choose.randint(3, 9), num_pae_bins=choose.randint(3, 9),
                                     **more))


def sampled(model, batch, atoms, samples):
    """Structures are given, not sampled."""
    model.structure_module.sample = lambda **named: {"sample_atom_coords": torch.randn(batch * samples, atoms, 3)}


def judged(feats, batch, tokens, atoms):
    """What the confidence module reads besides."""
    rows = torch.arange(tokens) % atoms
    feats.update(mol_type=torch.zeros(batch, tokens, dtype=torch.long), frames_idx=torch.randint(0, atoms, (batch, 1, tokens, 3)),
                 frame_resolved_mask=torch.ones(batch, 1, tokens, dtype=torch.bool), atom_resolved_mask=torch.ones(batch, atoms, dtype=torch.bool),
                 token_to_rep_atom=torch.nn.functional.one_hot(rows, atoms).float().expand(batch, -1, -1))


TRAINED = ["pdistogram", "denoised_atom_coords", "pde_logits", "plddt_logits", "resolved_logits", "pae_logits"]


def boltz1(choose):
    from boltz.data import const
    from boltz.model.models.boltz1 import Boltz1

    heads = choose.choice([1, 2, 4])
    config = dict(
        boltz_sizes(choose), atom_feature_dim=261 + choose.randint(2, 6),
        embedder_args=dict(atom_encoder_depth=choose.randint(1, 2), atom_encoder_heads=choose.choice([1, 2])),
        msa_args=dict(msa_s=choose.randint(2, 9), msa_blocks=choose.randint(1, 2), msa_dropout=0.0, z_dropout=0.0,
                      pairwise_head_width=choose.randint(2, 5), pairwise_num_heads=choose.randint(1, 3),
                      use_paired_feature=flag(choose)),
        pairformer_args=dict(num_blocks=choose.randint(1, 3), num_heads=heads, dropout=0.0,
                             pairwise_head_width=choose.randint(2, 5), pairwise_num_heads=choose.randint(1, 3)),
        score_model_args=dict(sigma_data=16, dim_fourier=choose.randint(3, 9), atom_encoder_depth=choose.randint(1, 2),
                              atom_encoder_heads=choose.choice([1, 2]), token_transformer_depth=choose.randint(1, 3),
                              token_transformer_heads=heads, atom_decoder_depth=choose.randint(1, 2),
                              atom_decoder_heads=choose.choice([1, 2]), conditioning_transition_layers=choose.randint(1, 3)),
        no_msa=choose.random() < 0.3, no_atom_encoder=choose.random() < 0.3)
    training = dict(recycling_steps=choose.randint(0, 2), diffusion_multiplicity=choose.randint(1, 3))
    args = {}
    if flag(choose):
        training["diffusion_samples"] = choose.randint(1, 2)
        args = confidence_sizes(choose, heads)
        args["add_s_input_to_s"] &= training["diffusion_samples"] == 1
        args["pairformer_args"]["no_update_s"] |= args["add_s_input_to_s"]
        config.update(num_bins=64, confidence_prediction=True, alpha_pae=choose.choice([0.0, 1.0]))
    model = Boltz1(**config, training_args=training, validation_args={}, diffusion_process_args={}, diffusion_loss_args={},
                   confidence_model_args=copy.deepcopy(args))
    if args:
        config.update(confidence_model_args=args)

    def inputs(choose, model):
        batch, tokens, rows = choose.randint(1, 2), choose.randint(3, 9), choose.randint(2, 6)
        atoms = 4 * choose.randint(2, 5)
        feats = boltz_features(choose, const, config, batch, tokens, rows, atoms)
        judged(feats, batch, tokens, atoms)
        sampled(model, batch, atoms, training.get("diffusion_samples", 1))
        return {"grids": [[1, 1, tokens]] * batch, "texts": [[rows, atoms]] * batch,
                "call": lambda model, return_dict: model(feats, recycling_steps=training["recycling_steps"],
                                                         diffusion_samples=training.get("diffusion_samples", 1),
                                                         multiplicity_diffusion_train=training["diffusion_multiplicity"]),
                "loss": lambda outputs: [outputs[name] for name in TRAINED if name in outputs]}

    return model, dict(config, training_args=training), inputs


def boltz2(choose):
    from boltz.data import const
    from boltz.model.models.boltz2 import Boltz2

    heads = choose.choice([1, 2, 4])
    config = dict(
        boltz_sizes(choose), atom_feature_dim=261 + choose.randint(2, 6) - 1,
        embedder_args=dict(atom_encoder_depth=choose.randint(1, 2), atom_encoder_heads=choose.choice([1, 2]),
                           **{f"add_{what}": flag(choose) for what in ("method_conditioning", "modified_flag", "cyclic_flag",
                                                                       "mol_type_feat")}),
        msa_args=dict(msa_s=choose.randint(2, 9), msa_blocks=choose.randint(1, 2), msa_dropout=0.0, z_dropout=0.0,
                      pairwise_head_width=choose.randint(2, 5), pairwise_num_heads=choose.randint(1, 3),
                      use_paired_feature=flag(choose)),
        pairformer_args=dict(num_blocks=choose.randint(1, 3), num_heads=heads, dropout=0.0, v2=True,
                             pairwise_head_width=choose.randint(2, 5), pairwise_num_heads=choose.randint(1, 3)),
        score_model_args=dict(sigma_data=16, dim_fourier=choose.randint(3, 9), atom_encoder_depth=choose.randint(1, 2),
                              atom_encoder_heads=choose.choice([1, 2]), token_transformer_depth=choose.randint(1, 3),
                              token_transformer_heads=heads, atom_decoder_depth=choose.randint(1, 2),
                              atom_decoder_heads=choose.choice([1, 2]), conditioning_transition_layers=choose.randint(1, 3)),
        bond_type_feature=flag(choose), confidence_prediction=True,
        confidence_model_args=confidence_sizes(choose, heads, use_separate_heads=flag(choose)))
    training = dict(recycling_steps=choose.randint(0, 2), diffusion_multiplicity=choose.randint(1, 3), diffusion_samples=choose.randint(1, 2))
    config["num_bins"] = 64
    if config["confidence_model_args"]["confidence_args"]["use_separate_heads"]:
        training["diffusion_samples"] = 1  # of several the class takes one sample a batch
    model = Boltz2(**copy.deepcopy(config), training_args=training, validation_args={}, diffusion_process_args={}, diffusion_loss_args={},
                   validate_structure=False)

    def inputs(choose, model):
        batch, tokens, rows = choose.randint(1, 2), choose.randint(3, 9), choose.randint(2, 6)
        atoms = 4 * choose.randint(2, 5)
        feats = boltz_features(choose, const, config, batch, tokens, rows, atoms)
        whole = torch.zeros(batch, tokens, dtype=torch.long)
        feats.update(msa=feats["msa"].argmax(-1), ref_element=torch.zeros(batch, atoms, config["atom_feature_dim"] - 4 - 256),
                     contact_conditioning=torch.zeros(batch, tokens, tokens, 5), contact_threshold=torch.zeros(batch, tokens, tokens),
                     type_bonds=torch.zeros(batch, tokens, tokens, dtype=torch.long), method_feature=whole, modified=whole,
                     mol_type=whole)
        judged(feats, batch, tokens, atoms)
        sampled(model, batch, atoms, training["diffusion_samples"])
        return {"grids": [[1, 1, tokens]] * batch, "texts": [[rows, atoms]] * batch,
                "call": lambda model, return_dict: model(feats, recycling_steps=training["recycling_steps"],
                                                         diffusion_samples=training["diffusion_samples"],
                                                         multiplicity_diffusion_train=training["diffusion_multiplicity"]),
                "loss": lambda outputs: [outputs[name] for name in TRAINED if name in outputs]}

    return model, dict(config, training_args=training), inputs


# ---- Protenix ----

class Settings(dict):
    """A dictionary whose keys are attributes too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def to_dict(self):
        return self


def settings(of):
    return Settings({name: settings(one) for name, one in of.items()}) if isinstance(of, dict) else of


def bare(of, *names):
    """The config with these sizes at its top alone, as a file by hand has it."""
    if not isinstance(of, dict):
        return of
    return {name: bare(one, *names) for name, one in of.items() if name not in names}


def protenix(choose):
    os.environ["LAYERNORM_TYPE"] = "torch"
    from protenix.model.modules import pairformer, primitives
    from protenix.model.protenix import Protenix

    # Recomputing is a plan's, and attention is the class's own without a kernel.
    pairformer.get_checkpoint_fn = lambda: lambda call, *of: call(*of)
    sizes = dict(c_s=16 * choose.randint(1, 2), c_z=32 * choose.randint(1, 2), c_atom=4 * choose.randint(1, 3),
                 c_atompair=choose.randint(2, 6), c_token=choose.randint(3, 9))
    sizes["c_s_inputs"] = sizes["c_token"] + 65
    s, z, short = sizes["c_s"], sizes["c_z"], flag(choose)
    scaled, samples, rows = flag(choose), choose.randint(1, 5), choose.randint(2, 6)
    heads = choose.choice([1, 2, 4])
    block = dict(c_z=z, blocks_per_ckpt=None, hidden_scale_up=scaled)
    first, last = choose.randint(0, 2), choose.randint(3, 6)
    config = dict(
        sizes, N_model_seed=1, diffusion_batch_size=samples, diffusion_chunk_size=choose.choice([None, 1, 2, 3]),
        enable_diffusion_shared_vars_cache=flag(choose), train_confidence_only=False, enable_efficient_fusion=flag(choose),
        esm=dict(enable=flag(choose), embedding_dim=choose.randint(3, 9)),
        sample_diffusion=dict(N_step_mini_rollout=choose.randint(1, 3), N_sample_mini_rollout=choose.randint(1, 2), gamma0=0.8,
                              gamma_min=1.0, noise_scale_lambda=1.003, step_scale_eta=1.5),
        data=dict(msa=dict(enable=True, strategy="topk", sample_cutoff=dict(train=rows + choose.randint(0, 3)),
                           min_size=dict(train=rows))),
        model=dict(
            N_model_seed=1, N_cycle=choose.randint(1, 3), confidence_embedding_drop_rate=0.0, condition_embedding_drop_rate=0.0,
            input_embedder=dict(c_atom=sizes["c_atom"] if short else 4 * choose.randint(1, 3),
                                c_atompair=sizes["c_atompair"] if short else choose.randint(2, 6), c_token=sizes["c_token"]),
            relative_position_encoding=dict(r_max=32, s_max=2, c_z=z),
            template_embedder=dict(block, c=32 * choose.randint(1, 2), n_blocks=choose.randint(0, 2)),
            msa_module=dict(block, c_m=choose.randint(2, 9), c_s_inputs=sizes["c_s_inputs"], n_blocks=choose.randint(1, 3),
                            msa_chunk_size=choose.choice([2, 3, 2048]), msa_max_size=16384),
            constraint_embedder=dict(
                pocket_embedder=dict(enable=flag(choose), c_z_input=choose.randint(1, 3)),
                contact_embedder=dict(enable=flag(choose), c_z_input=choose.randint(1, 3)),
                contact_atom_embedder=dict(enable=flag(choose), c_z_input=choose.randint(1, 3)),
                substructure_embedder=dict(enable=False), c_constraint_z=z),
            pairformer=dict(block, c_s=s, n_blocks=choose.randint(1, 3), n_heads=choose.choice([1, 2, 4])),
            diffusion_module=dict(
                sigma_data=16.0, c_token=4 * choose.randint(1, 4), c_atom=sizes["c_atom"], c_atompair=sizes["c_atompair"], c_z=z,
                c_s=s, c_s_inputs=sizes["c_s_inputs"], blocks_per_ckpt=None,
                atom_encoder=dict(n_blocks=choose.randint(1, 2), n_heads=choose.choice([1, 2, 4])),
                transformer=dict(n_blocks=choose.randint(1, 3), n_heads=heads),
                atom_decoder=dict(n_blocks=choose.randint(1, 2), n_heads=choose.choice([1, 2, 4]))),
            confidence_head=dict(c_z=z, c_s=s, c_s_inputs=sizes["c_s_inputs"], n_blocks=choose.randint(1, 2),
                                 max_atoms_per_token=choose.randint(2, 9), blocks_per_ckpt=None, hidden_scale_up=scaled,
                                 distance_bin_start=3.25, distance_bin_end=choose.choice([9.0, 9.5, 52.0]), distance_bin_step=1.25,
                                 stop_gradient=flag(choose)),
            distogram_head=dict(c_z=z, no_bins=choose.randint(3, 9))))
    unread = dict(enable_tf32=False, mc_dropout_rate=0.0, train_noise_sampler={}, inference_noise_scheduler={},
                  triangle_multiplicative="torch", triangle_attention="torch",
                  skip_amp=dict(sample_diffusion=False, confidence_head=False, sample_diffusion_training=False))
    model = Protenix(settings(dict(config, **unread)))
    for module in model.modules():
        if isinstance(module, primitives.Attention):
            module.use_efficient_implementation = False

    def inputs(choose, model):
        tokens, atoms = choose.randint(3, 9), choose.randint(20, 80)
        owner = torch.arange(atoms) % tokens
        whole = torch.zeros(tokens, dtype=torch.long)
        pairs = (tokens, tokens)
        feats = {"restype": torch.rand(tokens, 32), "profile": torch.rand(tokens, 32), "deletion_mean": torch.rand(tokens, 1),
                 "asym_id": whole, "residue_index": torch.arange(tokens), "entity_id": whole, "sym_id": whole,
                 "token_index": torch.arange(tokens), "token_bonds": torch.zeros(*pairs), "atom_to_token_idx": owner,
                 "atom_to_tokatom_idx": torch.zeros(atoms, dtype=torch.long), "ref_pos": torch.randn(atoms, 3),
                 "ref_space_uid": torch.zeros(atoms, dtype=torch.long), "ref_charge": torch.zeros(atoms), "ref_mask": torch.ones(atoms),
                 "ref_element": torch.zeros(atoms, 128), "ref_atom_name_chars": torch.zeros(atoms, 4, 64),
                 "msa": torch.zeros(rows, tokens, dtype=torch.long), "has_deletion": torch.zeros(rows, tokens),
                 "deletion_value": torch.zeros(rows, tokens), "distogram_rep_atom_mask": torch.arange(atoms) < tokens,
                 "esm_token_embedding": torch.rand(tokens, config["esm"]["embedding_dim"]),
                 "template_aatype": torch.zeros(4, tokens, dtype=torch.long), "template_distogram": torch.zeros(4, *pairs, 39),
                 "template_pseudo_beta_mask": torch.zeros(4, *pairs), "template_unit_vector": torch.zeros(4, *pairs, 3),
                 "template_backbone_frame_mask": torch.zeros(4, *pairs)}
        constraints = {name: torch.zeros(*pairs, config["model"]["constraint_embedder"][f"{name}_embedder"]["c_z_input"])
                       for name in ("pocket", "contact", "contact_atom")}
        if any(config["model"]["constraint_embedder"][f"{name}_embedder"]["enable"] for name in constraints):
            feats["constraint_feature"] = constraints

        class Unchanged:
            """Of labels and coordinates whose order nobody changes."""

            def permute_label_to_match_mini_rollout(self, coordinates, feats, label, whole):
                return label, {}

            def permute_diffusion_sample_to_match_label(self, feats, predicted, label, stage):
                return predicted, {}, None, None

        def call(model, return_dict):
            feats_now = model.relative_position_encoding.generate_relp(dict(feats))
            from protenix.model.protenix import update_input_feature_dict
            label = {"coordinate": torch.randn(atoms, 3), "coordinate_mask": torch.ones(atoms)}
            return model.main_train_loop(update_input_feature_dict(feats_now), label, label, config["model"]["N_cycle"], Unchanged())[0]

        return {"grids": [[1, 1, tokens]], "texts": [[rows, atoms]], "call": call,
                "loss": lambda made: [made[name] for name in ("plddt", "pae", "pde", "resolved", "coordinate", "distogram")]}

    if not short:
        return model, config, inputs
    wide = config["model"]["diffusion_module"]["c_token"]
    saved = bare(config["model"], *sizes, "c_constraint_z", "input_embedder")
    saved["diffusion_module"]["c_token"] = wide
    return model, dict(config, model=saved), inputs


# ---- OpenFold-3 ----

def openfold3(choose):
    from ml_collections import ConfigDict
    from openfold3.projects.of3_all_atom.config.model_config import model_config
    from openfold3.projects.of3_all_atom.model import OpenFold3

    config = model_config.copy_and_resolve_references().to_dict()
    parts = config["architecture"]
    s, z, a, az = (choose.randint(4, 12) for _ in range(4))
    m, t, token, wide = choose.randint(3, 9), choose.randint(3, 9), choose.randint(3, 9), choose.randint(4, 12)
    told = token + 65
    window, bins, atoms_of_token = choose.choice([4, 8, 32]), choose.randint(2, 9), choose.randint(2, 5)

    def attention(names=("no_heads", "c_hidden")):
        return {names[0]: choose.randint(1, 3), names[1]: choose.randint(2, 5)}

    def pairs():
        return dict(attention(("no_heads_pair", "c_hidden_pair_att")), c_hidden_mul=choose.randint(2, 9),
                    fuse_projection_weights=flag(choose), transition_n=choose.randint(1, 4), no_blocks=choose.randint(1, 3))

    def trunk():
        return dict(pairs(), **attention(("no_heads_pair_bias", "c_hidden_pair_bias")), c_s=s, c_z=z)

    def atoms(a, az, window):
        return dict(attention(), c_atom=a, c_atom_pair=az, n_query=window, n_key=choose.choice([1, 2, 4]) * window,
                    no_blocks=choose.randint(1, 2), n_transition=choose.randint(1, 3))

    def encoder(token, *sizes):
        return dict(atoms(*sizes), c_s=s, c_z=z, c_token=token)

    def places():
        return dict(max_relative_idx=choose.randint(2, 9), max_relative_chain=choose.randint(1, 3))

    diffusion, denoised = parts["diffusion_module"], encoder(wide, a, az, window)
    for part, sizes in (
            (parts["shared"], dict(c_s_input=told, c_s=s, c_z=z, num_recycles=choose.randint(0, 2))),
            (parts["shared"]["diffusion"], dict(no_samples=choose.randint(1, 4), no_mini_rollout_samples=choose.randint(1, 2),
                                                no_mini_rollout_steps=choose.randint(1, 3))),
            (parts["input_embedder"], dict(places(), c_s_input=told, c_s=s, c_z=z)),
            (parts["input_embedder"]["atom_attn_enc"],
             encoder(token, choose.randint(4, 9), choose.randint(2, 9), choose.choice([4, 8, 32]))),
            (parts["template"], dict(c_t=t, c_z=z)),
            (parts["template"]["template_pair_embedder"], dict(c_in=z, c_out=t)),
            (parts["template"]["template_pair_stack"],
             dict(attention(("no_heads", "c_hidden_tri_att")), c_t=t, c_hidden_tri_mul=choose.randint(2, 9),
                  no_blocks=choose.randint(1, 2), pair_transition_n=choose.randint(1, 3), fuse_projection_weights=flag(choose),
                  tri_mul_first=flag(choose))),
            (parts["msa"]["msa_module_embedder"], dict(c_m=m, c_s_input=told, subsample_all_msa=False)),
            (parts["msa"]["msa_module"], dict(pairs(), **attention(("no_heads_msa", "c_hidden_msa_att")), c_m=m, c_z=z,
                                              c_hidden_opm=choose.randint(2, 5), opm_first=flag(choose))),
            (parts["pairformer"], trunk()),
            (diffusion["diffusion_module"], dict(c_s=s, c_token=wide)),
            (diffusion["diffusion_conditioning"], dict(places(), c_s_input=told, c_s=s, c_z=z, c_fourier_emb=choose.randint(2, 9))),
            (diffusion["atom_attn_enc"], denoised),
            (diffusion["diffusion_transformer"], dict(attention(), c_a=wide, c_s=s, c_z=z, no_blocks=choose.randint(1, 3),
                                                      n_transition=choose.randint(1, 3))),
            (diffusion["atom_attn_dec"], dict(atoms(a, az, window), c_token=wide, n_key=denoised["n_key"])),
            (parts["heads"], dict(max_atoms_per_token=atoms_of_token)),
            (parts["heads"]["pairformer_embedding"], dict(c_s_input=told, c_z=z, no_bin=bins)),
            (parts["heads"]["pairformer_embedding"]["pairformer"], trunk()),
            (parts["heads"]["pae"], dict(c_z=z, c_out=choose.randint(2, 9), enabled=flag(choose))),
            (parts["heads"]["pde"], dict(c_z=z, c_out=choose.randint(2, 9))),
            (parts["heads"]["lddt"], dict(c_s=s, c_out=choose.randint(2, 9), max_atoms_per_token=atoms_of_token)),
            (parts["heads"]["distogram"], dict(c_z=z, c_out=choose.randint(2, 9))),
            (parts["heads"]["experimentally_resolved"], dict(c_s=s, max_atoms_per_token=atoms_of_token))):
        assert sizes.keys() <= part.keys(), sizes.keys() - part.keys()
        part.update(sizes)
    templates = choose.randint(1, 4)
    model = OpenFold3(ConfigDict(config))

    def without_starts(of):
        return {name: without_starts(one) for name, one in of.items() if name != "linear_init_params"} if isinstance(of, dict) else of

    saved = without_starts({"settings": {"train_confidence_only": False}, "architecture": {
        name: part for name, part in parts.items() if name != "loss_module"}, "n_templates": templates})

    def inputs(choose, model):
        batch, tokens, rows = choose.randint(1, 2), choose.randint(3, 9), choose.randint(2, 6)
        per_token = [choose.randint(1, atoms_of_token) for _ in range(tokens)]
        atoms = sum(per_token)
        owner = torch.repeat_interleave(torch.arange(tokens), torch.tensor(per_token))

        def rep(one):
            return one.expand(batch, *one.shape).clone()

        whole, pairs = torch.zeros(batch, tokens, dtype=torch.int), (tokens, tokens)
        feats = {"residue_index": rep(torch.arange(tokens)), "token_index": rep(torch.arange(tokens)), "asym_id": whole, "entity_id": whole,
                 "sym_id": whole, "restype": torch.zeros(batch, tokens, 32), "is_protein": whole, "is_dna": whole, "is_rna": whole,
                 "is_ligand": whole + 1, "is_atomized": whole + 1, "ref_pos": torch.randn(batch, atoms, 3),
                 "ref_mask": torch.ones(batch, atoms), "ref_element": torch.zeros(batch, atoms, 119),
                 "ref_charge": torch.zeros(batch, atoms), "ref_atom_name_chars": torch.zeros(batch, atoms, 4, 64),
                 "ref_space_uid": rep(owner),
                 "msa": torch.rand(batch, rows, tokens, 32), "has_deletion": torch.zeros(batch, rows, tokens),
                 "deletion_value": torch.zeros(batch, rows, tokens), "profile": torch.rand(batch, tokens, 32),
                 "deletion_mean": torch.rand(batch, tokens), "template_restype": torch.zeros(batch, templates, tokens, 32),
                 "template_pseudo_beta_mask": torch.ones(batch, templates, tokens),
                 "template_backbone_frame_mask": torch.ones(batch, templates, tokens),
                 "template_distogram": torch.zeros(batch, templates, *pairs, 39),
                 "template_unit_vector": torch.zeros(batch, templates, *pairs, 3), "token_bonds": torch.zeros(batch, *pairs),
                 "token_mask": torch.ones(batch, tokens), "atom_mask": torch.ones(batch, atoms),
                 "start_atom_index": rep(torch.tensor(per_token).cumsum(0) - torch.tensor(per_token)),
                 "num_atoms_per_token": rep(torch.tensor(per_token)), "atom_to_token_index": rep(owner),
                 "msa_mask": torch.ones(batch, rows, tokens), "ground_truth": {
                     "atom_positions": torch.randn(batch, atoms, 3), "atom_resolved_mask": torch.ones(batch, atoms)}}

        def each_sample(of):
            return {name: each_sample(one) for name, one in of.items()} if isinstance(of, dict) else of.unsqueeze(1)

        def call(model, return_dict):
            trunk = [one.unsqueeze(1) for one in model.run_trunk(feats, parts["shared"]["num_recycles"] + 1)]
            samples = each_sample(feats)
            made = model._rollout(samples, *trunk)
            return {**made, **model._train_diffusion(samples, *trunk)}

        time = 2 * diffusion["diffusion_conditioning"]["c_fourier_emb"] * s * parts["shared"]["diffusion"]["no_mini_rollout_steps"]
        return {"grids": [[1, 1, tokens]] * batch, "texts": [[rows, atoms]] * batch, "call": call,
                "differences": {"diffusion.time": {"why": "a step of the rollout has one time for the whole batch",
                                                   "forward": (1 - batch) * time, "backward": 0}},
                "loss": lambda made: [one for name, one in made.items() if name.endswith("_logits") or name == "atom_positions_diffusion"]}

    if flag(choose):
        saved["architecture"] = {**bare(saved["architecture"], "c_s", "c_z", "c_s_input", "c_in"), "shared": parts["shared"]}
    return model, saved, inputs


CLASSES = {"boltz1": boltz1, "boltz2": boltz2, "protenix": protenix, "openfold3": openfold3}


def describe(name, draw):
    choose = random.Random(f"{name} {draw}")
    torch.manual_seed(0)
    model, config, inputs = CLASSES[name](choose)
    model.train()
    return {"id": f"{name}/{draw}", "model_type": name, "class": name, "config": {"model_type": name, **config},
            "no_resolved": "the hyperparameters of a checkpoint are those that were given",
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "runs": [diffusion.run(torch, FlopCounterMode, model, inputs(choose, model)) for _ in range(2)]}


def main(arguments):
    folders = [word for word in arguments if pathlib.Path(word).is_dir()] or [os.environ.get("FLOPTALLY_BIOLOGY")]
    if folders[0] is None:
        diffusion.skip("FLOPTALLY_BIOLOGY names no folder with the sources")
    sys.path[:0] = folders
    sys.meta_path.append(StandIns())
    return diffusion.redraw(__file__, CLASSES, DRAWS, describe, [word for word in arguments if word not in folders])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
