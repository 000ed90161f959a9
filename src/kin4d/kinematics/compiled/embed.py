"""embed_into: the embedding of any map, for compiled code."""

from __future__ import annotations

from numba.core import types
from numba.extending import overload

from kin4d.kinematics.compiled.articulated import ArticulatedData, articulated_embed
from kin4d.kinematics.compiled.blended import BlendedData, blended_embed
from kin4d.kinematics.compiled.low_rank_kernels import LowRankData, low_rank_embed
from kin4d.kinematics.compiled.modal_kernels import ModalData, modal_embed
from kin4d.kinematics.compiled.skinned_kernels import SkinnedData, skinned_embed


def embed_into(data, q, y, jacobian, with_jacobian):
    """Write y [n] and, if wanted, J [n, k]; in compiled code by the kernel of `data`'s type."""
    data.embed_into(q, y, jacobian, with_jacobian)


@overload(embed_into)
def _embed_into(data, q, y, jacobian, with_jacobian):
    if isinstance(data, types.NamedTuple) and data.instance_class is ArticulatedData:
        return lambda data, q, y, jacobian, with_jacobian: articulated_embed(
            data, q, y, jacobian, with_jacobian
        )
    if isinstance(data, types.NamedTuple) and data.instance_class is LowRankData:
        return lambda data, q, y, jacobian, with_jacobian: low_rank_embed(
            data, q, y, jacobian, with_jacobian
        )
    if isinstance(data, types.NamedTuple) and data.instance_class is ModalData:
        return lambda data, q, y, jacobian, with_jacobian: modal_embed(
            data, q, y, jacobian, with_jacobian
        )
    if isinstance(data, types.NamedTuple) and data.instance_class is SkinnedData:
        return lambda data, q, y, jacobian, with_jacobian: skinned_embed(
            data, q, y, jacobian, with_jacobian
        )
    if isinstance(data, types.NamedTuple) and data.instance_class is BlendedData:
        return lambda data, q, y, jacobian, with_jacobian: blended_embed(
            data, q, y, jacobian, with_jacobian
        )
    return None
