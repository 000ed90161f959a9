"""Random mechanisms: joints of all usual kinds on bodies of no category, made from a seed.

A category teaches what its objects look like; these teach what a hinge, a rail or a wheel looks
like, wherever it is.
"""

from kin4d.objects.mechanisms.assemble import MECHANISM, mechanism_source, random_mechanism

__all__ = ["MECHANISM", "mechanism_source", "random_mechanism"]
