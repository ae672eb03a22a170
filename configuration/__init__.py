"""Hyper-parameters: a file a family over a shared base. Nothing here knows of modeling."""

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
