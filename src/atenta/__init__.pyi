# The public names. `__init__.py` reads this file, and imports each name when it is first asked for.
from .configuration.configuration_decoder import AtentaDecoderConfig as AtentaDecoderConfig
from .configuration.configuration_encoder import AtentaEncoderConfig as AtentaEncoderConfig
from .configuration.configuration_encoder_decoder import AtentaEncoderDecoderConfig as AtentaEncoderDecoderConfig
from .configuration.configuration_pair_votes import AtentaPairVotesConfig as AtentaPairVotesConfig
from .engines.engine import Engine as Engine
from .engines.engine import load_engine as load_engine
from .modeling.modeling_decoder import AtentaDecoderForCausalLM as AtentaDecoderForCausalLM
from .modeling.modeling_decoder import AtentaDecoderForSequenceClassification as AtentaDecoderForSequenceClassification
from .modeling.modeling_decoder import AtentaDecoderModel as AtentaDecoderModel
from .modeling.modeling_encoder import AtentaEncoderForQuestionAnswering as AtentaEncoderForQuestionAnswering
from .modeling.modeling_encoder import AtentaEncoderForSequenceClassification as AtentaEncoderForSequenceClassification
from .modeling.modeling_encoder import AtentaEncoderForTokenClassification as AtentaEncoderForTokenClassification
from .modeling.modeling_encoder import AtentaEncoderModel as AtentaEncoderModel
from .modeling.modeling_encoder_decoder import (
    AtentaEncoderDecoderForConditionalGeneration as AtentaEncoderDecoderForConditionalGeneration,
)
from .modeling.modeling_encoder_decoder import AtentaEncoderDecoderModel as AtentaEncoderDecoderModel
from .modeling.modeling_encoder_pretraining import AtentaEncoderForMaskedLM as AtentaEncoderForMaskedLM
from .modeling.modeling_encoder_pretraining import (
    AtentaEncoderForNextSentencePrediction as AtentaEncoderForNextSentencePrediction,
)
from .modeling.modeling_encoder_pretraining import AtentaEncoderForPreTraining as AtentaEncoderForPreTraining
from .modeling.modeling_pair_votes import AtentaPairVotesForCausalLM as AtentaPairVotesForCausalLM
from .phonemization.phonemizer import PhonemizedText as PhonemizedText
from .phonemization.phonemizer import PhonemizedWord as PhonemizedWord
from .phonemization.phonemizer import Phonemizer as Phonemizer
from .phonemization.portuguese_words import phonemize as phonemize
from .phonemization.readings import Reading as Reading
from .restoration.portuguese import restore_accents as restore_accents
from .restoration.portuguese import restore_text as restore_text
from .restoration.restorer import CharacterRestorer as CharacterRestorer
from .restoration.spellings import Spellings as Spellings
from .restoration.window_reader import RestoredText as RestoredText
from .tokenization.alphabet import DEFAULT_ALPHABET as DEFAULT_ALPHABET
from .tokenization.character_table import CharacterTable as CharacterTable
from .tokenization.offsets import character_span as character_span
from .tokenization.text_checks import check_texts as check_texts
from .tokenization.text_windows import GeneratedText as GeneratedText
from .tokenization.tokenization_atenta import AtentaTokenizer as AtentaTokenizer

__version__: str
