"""Modules of Linen, and functions of flax, that took other arguments."""

from __future__ import annotations

from flaxoptim_compat.legacy.calls.row import LostMember, OldCall

_LINEN = "flaxoptim_compat.legacy.calls.linen_modules:"
_STOPPING = "flaxoptim_compat.legacy.calls.flax_early_stopping:"


ENTRIES: tuple[OldCall, ...] = (
    *(
        OldCall(
            f"flax.linen.{name}.__init__",
            "self gate_fn activation_fn kernel_init recurrent_kernel_init bias_init dtype"
            " param_dtype parent name",
            f"flax.linen.{name}(features)",
            by=f"{_LINEN}without_features",
            old_if=f"{_LINEN}has_no_features",
        )
        for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell")
    ),
    *(
        OldCall(
            f"flax.linen.{name}.initialize_carry",
            "rng batch_dims size init_fn",
            f"flax.linen.{name}({arguments}).initialize_carry(rng, input_shape)",
            by=f"{_LINEN}{carry}",
            old_if=f"{_LINEN}is_of_the_class",
        )
        for name, arguments, carry in (
            ("LSTMCell", "features", "two_states"),
            ("OptimizedLSTMCell", "features", "two_states"),
            ("GRUCell", "features", "one_state"),
            ("ConvLSTMCell", "features, kernel_size", "two_states"),
        )
    ),
    OldCall(
        "flax.linen.MultiHeadDotProductAttention.__call__",
        "self inputs_q inputs_kv=inputs_k | mask deterministic",
        "attention(inputs_q, inputs_k, mask=..., deterministic=...)",
        old_if=f"{_LINEN}has_its_mask_third",
    ),
    *(
        OldCall(f"flax.linen.Module.{name}", f"self {took}", f"module.{name}({today})")
        for name, took, today in (
            ("make_rng", "kind=name", "name"),
            ("get_variable", "kind=col name default", "col, name"),
            ("has_variable", "kind=col name", "col, name"),
            ("put_variable", "kind=col name value", "col, name, value"),
            ("variable", "kind=col name init_fn *init_args", "col, name, init_fn"),
        )
    ),
    OldCall(
        "flax.linen.remat flax.linen.checkpoint flax.linen.transforms.remat"
        " flax.linen.transforms.checkpoint",
        "target variables rngs * concrete=False",
        "flax.linen.remat(target, static_argnums=...)",
    ),
    OldCall(
        "flax.training.checkpoints.save_checkpoint",
        "ckpt_dir target step prefix keep overwrite keep_every_n_steps async_manager gda_manager=-",
        "flax.training.checkpoints.save_checkpoint(ckpt_dir, target, step, ...)",
    ),
)

METHODS: tuple[LostMember, ...] = tuple(
    LostMember(
        "flax.training.early_stopping.EarlyStopping.update() as a pair",
        f"{_STOPPING}{served_by}",
        f"{_STOPPING}not_a_pair",
        "stopping = stopping.update(metric); stopping.has_improved",
        attribute,
    )
    for served_by, attribute in (("unpacked", "__iter__"), ("at", "__getitem__"))
)
