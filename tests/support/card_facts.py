"""Facts that a card states, with a value of each, and names with markup that it shows as they are."""

from atenta.hub.card_facts import CardFacts

FACTS = CardFacts(
    title="Accents",
    task={"en": "It writes accents.", "pt": "Escreve acentos."},
    example="A acao",
    data={"en": "tales", "pt": "contos"},
    language="pt",
    licence="apache-2.0",
    datasets=["ana/tales"],
    base_model="ana/pretrained",
    rows={"train": 12345, "validation": 20, "test": 30},
    rows_inside={"train": 1.0, "validation": 0.5, "test": 0.75},
    characters_inside={"train": 1.0, "validation": 0.999, "test": 0.9},
    options={"optim": "muon", "learning_rate": 0.0025, "seed": 42},
    cost={
        **{"minutes": 4.75, "kilowatt_hours": 0.0123, "co2_grams": 1.21, "tracker": "codecarbon 3.3.2"},
        **{"processor": "Some CPU", "country": "Brazil"},
    },
    limits="- It knows the spelling of 1880.",
    tags=["accents"],
    tests={
        "test": {"left as it is": {"word_accuracy": 0.85, "f1": 0.5}, "model": {"word_accuracy": 0.9612, "f1": 0.75}},
        "sentences": {"left as it is": {"word_accuracy": 0.8}, "model": {"word_accuracy": 0.91}},
        "verses": {"left as it is": {"word_accuracy": 0.8}, "model": {"word_accuracy": 0.99}},
    },
    by_length={
        "1–10": {"texts": 19, "left as it is": {"word_accuracy": 0.1}, "model": {"word_accuracy": 0.2}},
        "11–20": {"texts": 20, "left as it is": {"word_accuracy": 0.8}, "model": {"word_accuracy": 0.93}},
        "21–40": {"texts": 1200, "left as it is": {"word_accuracy": 0.9}, "model": {"word_accuracy": 0.97}},
    },
    by_domain={"law": {"texts": 50, "left as it is": {"word_accuracy": 0.8}, "model": {"word_accuracy": 0.88}}},
    confidence={"0.9": {"decided": 0.98, "wrong": 0.01}},
    wrong_words={"unknown to training": 3},
    run={
        "command": "seq2seq.py --output_dir /home/ana/accents",
        "machine": "x86_64, 2 cores, no GPU",
        "versions": {"atenta": "0.1.0", "torch": "2.13.0"},
        "python": "3.11.7",
        "date": "2026-11-23",
    },
)
NASTY = [
    "pairs.tsv\n# Heading\n",
    "---",
    "a\n---\nlicense: mit\n---\n",
    "{{ card_data }}{% raw %}",
    "a|b | c\r| d",
    "<script>alert(1)</script> &lt; <!-- -->",
    "`a` ``` ~~~ *b* _c_ [d](e) ![f](g) $h$ \\",
    'quote" quote\' \\" \\',
    "\x1b[31m\x85\u2028\u202e\0",
    "\U0001f600 ção 日",
    ": x #y",
]
