# SPDX-License-Identifier: Apache-2.0
"""Counts small random models of biology, run forward and backward under PyTorch's FlopCounterMode.

    pip download --no-deps boltz==2.2.1 protenix==2.0.0     # and unpack them into one folder, with scipy and einops
    python biology.py FOLDER [CLASS...]                     # writes biology.json

As diffusion.py does, whose `run` it takes: each function draws sizes and flags from a seed, its name and a number. What
the packages import beside torch and no product needs (trainers, metrics, chemistry) is stood in for. A run's `grids` are
the tokens of each sample, its `texts` the rows of the alignment and the atoms.
"""

import importlib.abc
import importlib.machinery
import json
import pathlib
import random
import sys
import types

import torch
from torch.utils.flop_counter import FlopCounterMode

import diffusion

DRAWS = 8
STOOD_IN = {"fairscale", "pytorch_lightning", "torchmetrics", "rdkit", "mashumaro", "gemmi", "numba", "Bio", "redis", "einx",
            "hydra", "pandas", "chembl_structure_pipeline", "wandb"}


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


class Trained(torch.nn.Module):
    def save_hyperparameters(self, *names):
        pass


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        known = name.partition(".")[0] in STOOD_IN
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec):
        made = types.ModuleType(spec.name)
        made.__path__ = []
        made.__getattr__ = lambda name: Absent if not name.startswith("__") else made.__dict__[name]
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
    model = Boltz1(**config, training_args=training, validation_args={}, diffusion_process_args={}, diffusion_loss_args={},
                   confidence_model_args={})

    def inputs(choose, model):
        batch, tokens, rows = choose.randint(1, 2), choose.randint(3, 9), choose.randint(2, 6)
        atoms = 4 * choose.randint(2, 5)
        feats = boltz_features(choose, const, config, batch, tokens, rows, atoms)
        return {"grids": [[1, 1, tokens]] * batch, "texts": [[rows, atoms]] * batch,
                "call": lambda model, return_dict: model(feats, recycling_steps=training["recycling_steps"],
                                                         multiplicity_diffusion_train=training["diffusion_multiplicity"]),
                "loss": lambda outputs: [outputs["pdistogram"], outputs["denoised_atom_coords"]]}

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
        bond_type_feature=flag(choose), confidence_prediction=False)
    training = dict(recycling_steps=choose.randint(0, 2), diffusion_multiplicity=choose.randint(1, 3))
    model = Boltz2(**config, training_args=training, validation_args={}, diffusion_process_args={}, diffusion_loss_args={},
                   validate_structure=False)
    # The step runs its diffusion only beside the confidence module, which is left out here with what is sampled for it.
    model.confidence_prediction = True
    model.structure_module.sample = lambda **named: {"sample_atom_coords": torch.zeros(1)}
    model.confidence_module = lambda **named: {}

    def inputs(choose, model):
        batch, tokens, rows = choose.randint(1, 2), choose.randint(3, 9), choose.randint(2, 6)
        atoms = 4 * choose.randint(2, 5)
        feats = boltz_features(choose, const, config, batch, tokens, rows, atoms)
        whole = torch.zeros(batch, tokens, dtype=torch.long)
        feats.update(msa=feats["msa"].argmax(-1), ref_element=torch.zeros(batch, atoms, config["atom_feature_dim"] - 4 - 256),
                     contact_conditioning=torch.zeros(batch, tokens, tokens, 5), contact_threshold=torch.zeros(batch, tokens, tokens),
                     type_bonds=torch.zeros(batch, tokens, tokens, dtype=torch.long), method_feature=whole, modified=whole,
                     mol_type=whole)
        return {"grids": [[1, 1, tokens]] * batch, "texts": [[rows, atoms]] * batch,
                "call": lambda model, return_dict: model(feats, recycling_steps=training["recycling_steps"],
                                                         multiplicity_diffusion_train=training["diffusion_multiplicity"]),
                "loss": lambda outputs: [outputs["pdistogram"], outputs["denoised_atom_coords"]]}

    return model, dict(config, training_args=training, confidence_prediction=True), inputs


CLASSES = {"boltz1": boltz1, "boltz2": boltz2}


def describe(name, draw):
    choose = random.Random(f"{name} {draw}")
    torch.manual_seed(0)
    model, config, inputs = CLASSES[name](choose)
    model.train()
    return {"id": f"{name}/{draw}", "model_type": name, "class": name, "config": {"model_type": name, **config},
            "no_resolved": "the hyperparameters of a checkpoint are those that were given",
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "runs": [diffusion.run(torch, FlopCounterMode, model, inputs(choose, model)) for _ in range(2)]}


def main(folder, *only):
    sys.path.insert(0, folder)
    sys.meta_path.append(StandIns())
    torch.set_num_threads(1)
    path = pathlib.Path(__file__).with_suffix(".json")
    diffusion.write(path, diffusion.draw_again(path, only or CLASSES, DRAWS, describe))


if __name__ == "__main__":
    main(*sys.argv[1:])
