from atenta.recipes.samples.languages import lowercase_words


def test_lowercase_words():
    text = "— Não!... disse-me Capitu; “não sei”, d'água (talvez), 1a º vez\nVEZ vez."
    assert lowercase_words(text) == ["não", "sei", "talvez", "vez"]
