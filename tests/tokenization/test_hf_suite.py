"""Hugging Face's own tests of tokenizers, run on the saved and loaded tokenizer of each family."""

import shutil
import tempfile
import unicodedata
import unittest

from atenta import DEFAULT_ALPHABET, AtentaTokenizer
from support.hf_suites import OneReport, import_suite

common = import_suite("test_tokenization_common")
backend = import_suite("test_tokenizers_backend_mixin")


def tokens_of(text):
    """Yield the tokens of a text by the documents' rule, without the tokenizer."""
    for character in unicodedata.normalize("NFC", text):
        if character in DEFAULT_ALPHABET:
            yield character
        else:
            yield from (f"<0x{byte:02X}>" for byte in character.encode())


class Suite(OneReport, common.TokenizerTesterMixin, backend.TokenizersBackendTesterMixin):
    """The tests of all tokenizers and those of the `tokenizers` backend."""

    tokenizer_class = AtentaTokenizer
    rust_tokenizer_class = AtentaTokenizer
    family = None

    test_tokenizer_from_extractor = False  # it passes a bare vocabulary, which this class does not take
    integration_expected_decoded_text = unicodedata.normalize(
        "NFC", common.TokenizerTesterMixin.integration_test_input_string
    )
    integration_expected_tokens = list(tokens_of(integration_expected_decoded_text))

    @classmethod
    def setUpClass(cls):
        # This replaces the suites' own, which load a tokenizer from the Hub and a text that their package lacks.
        cls.tmpdirname = tempfile.mkdtemp()
        tokenizer = AtentaTokenizer.from_alphabet(family=cls.family)
        tokenizer.save_pretrained(cls.tmpdirname)
        cls.from_pretrained_id = [cls.tmpdirname]
        cls.tokenizers_list = [(AtentaTokenizer, cls.tmpdirname, {})]
        cls.integration_expected_token_ids = tokenizer.convert_tokens_to_ids(cls.integration_expected_tokens)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.tmpdirname)


class EncoderSuite(Suite, unittest.TestCase):
    family = "encoder"


class SuiteOfOneWord(Suite):
    @unittest.skip("expects words, but for the tokenizer of this family a text is one word")
    def test_alignment_methods(self):
        pass

    @unittest.skip("expects special tokens in a text to be read, but this family splits them")
    def test_tokenize_special_tokens(self):
        pass


class DecoderSuite(SuiteOfOneWord, unittest.TestCase):
    family = "decoder"


class EncoderDecoderSuite(SuiteOfOneWord, unittest.TestCase):
    family = "encoder-decoder"
