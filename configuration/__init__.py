"""Configurations: one file per model family over shared bases. They do not import the modeling code."""

from .configuration_base import AtentaConfig
from .configuration_decoder import AtentaDecoderConfig
from .configuration_encoder import AtentaEncoderConfig
from .configuration_encoder_decoder import AtentaEncoderDecoderConfig
from .configuration_pair_votes import AtentaPairVotesConfig
from .configuration_transformer import AtentaTransformerConfig

__all__ = [
    "AtentaConfig",
    "AtentaDecoderConfig",
    "AtentaEncoderConfig",
    "AtentaEncoderDecoderConfig",
    "AtentaPairVotesConfig",
    "AtentaTransformerConfig",
]
