"""The prose of files: all that people read, nothing that machines read, and each character in its place."""

from time import process_time
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atenta.checking.blocks import NOWHERE
from atenta.checking.prose import ENDINGS, ending_of, find_prose
from atenta.recipes.samples.files import DATA
from atenta.restoration.spans import protected_spans
from support.prose_files import CODE, make_files

SENTENCES = (DATA / "portugues" / "cotidiano.txt").read_text(encoding="utf-8").splitlines()[:40]
FILES = make_files(SENTENCES)


def prose_of(name, source):
    blocks = find_prose(name, source).blocks
    for block in blocks:
        assert len(block.text) == len(block.places)
        for character, place in zip(block.text, block.places):
            if place != NOWHERE and not (source[place].isspace() and character == " "):
                assert character in normalize("NFC", source[place])
    return [block.text for block in blocks]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", FILES)
def test_every_sentence_is_read_in_its_place(name, line_end):
    texts = prose_of(name, FILES[name].replace("\n", line_end))
    read = " ".join(" ".join(texts).split())
    for sentence in SENTENCES:
        words = [word for word in sentence.split() if word.isalpha()]
        assert all(word in read for word in words), sentence


@pytest.mark.parametrize("name", FILES)
def test_code_is_not(name):
    source = FILES[name]
    for block in find_prose(name, source).blocks:
        left_alone = list(protected_spans(block.text))
        start = block.text.find(CODE)
        while start != -1:
            stands_for_it = block.places[start] == NOWHERE
            protected = any(first <= start < last for first, last in left_alone)
            in_name = any(sign in source[block.places[start] - 5 : block.places[start] + 10] for sign in "_/-(<:")
            assert stands_for_it or protected or in_name, block.text
            start = block.text.find(CODE, start + 1)


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("a.md", "um `dois` tr**ês**\nquatro", ["um `dois` três quatro"]),
        ("a.md", "n&atilde;o \\* <b>é</b> [a](b.md)[c][d]\n\n[d]: e.md", ["não    é  ac"]),
        ("a.md", "| a \\| b | c |\n| - | - |\n| c | c |", ["a  b", "c", "c", "c"]),
        ("a.md", "# Um #\n\ndois\n===", ["Um", "dois"]),
        ("a.md", "![um ![dois](x)](y) tres", ["um dois tres"]),
        ("a.html", "<p>um<b>a</b> <br>dois<p title='t&ecirc;m x'>tres", ["têm x", "uma   dois", "tres"]),
        (
            "a.html",
            "<meta name=Description content='um &eacute; x'><meta content='dois' property='og:title'/>",
            ["um é x", "dois"],
        ),
        ("a.json", r'{"um": "n\u00e3o \"sei\"", "dois": "tres"}', ['não "sei"']),
        ("a.yaml", "um: dois tres\nquatro: cinco\nseis: |\n  sete oito\n", ["dois tres ", "sete oito "]),
        ("a.py", "# um\n# dois\n\n# tres\nx = 'quatro'\ny = 'cinco' ' seis'\n", ["um dois ", "tres ", "cinco seis"]),
        ("a.R", "# um dois\nx <- 3\n", ["um dois "]),
        ("a.po", 'msgid "um"\nmsgstr "Erro: \\"dois\\n"\n"tres"\n#~ msgstr "x"\n', ['Erro: "dois  tres']),
        ("a.txt", "um\ndois\n \ntres", ["um dois ", "tres"]),
        ("a.txt", "na\u0303o", ["não"]),
        ("a.md", "um\n\n$$\ndois\n\n- tres\n$$\n\n> - \\[\n>   dois\n>   \\]\n>   quatro", ["um", "quatro"]),
        (
            "a.yaml",
            "'um dois': tres quatro\na: [cinco seis, 'sete oito']\n",
            ["tres quatro", "cinco seis", "sete oito"],
        ),
        ("a.yaml", "{um: dois tres, quatro: cinco seis}\n", ["dois tres", "cinco seis"]),
        ("a.java", "/**\n * @return o um\n */", ["o um "]),
        ("a.py", '"""Um.\n\n>>> dois\ntres\n\n:return: o quatro\n"""', ["Um.", "o quatro"]),
        ("a.rst", "Um:\n\n>>> dois\ntres\n\nquatro", ["Um:", "quatro"]),
        (
            "a.rst",
            ".. image:: a\n   :width: 3\n   :alt: Um dois\n\n.. toctree::\n   :caption: Tres\n\n   a",
            ["Um dois", "Tres"],
        ),
        (
            "a.rst",
            "Um :ref:`dois tres <a>` e `quatro <http://b>`_, :func:`c d <e>`.\n\n.. toctree::\n\n   `f g <h>`_\n",
            ["Um :ref: dois tres e quatro , :func:`c d <e>`."],
        ),
        ("a.rst", ".. code-block:: rst\n   :caption: Um\n\n   .. image:: a\n      :alt: b c\n", ["Um"]),
        ("a.md", "um <Kbd a='b>c'>d **e** ![f](g) &atilde;</kbd> dois <code/> tres <var>quatro", ["um dois tres"]),
        (
            "a.md",
            "![um <code>a</code> dois](x)\n\n| b |\n| - |\n| <code>a \\| b</code> tres |",
            ["um dois", "b", "tres"],
        ),
        (
            "a.rst",
            "1. Um::\n\n      dois tres\n\nQuatro::\r\n\r\n    cinco seis\r\n\r\nsete",
            ["Um::", "Quatro::", "sete"],
        ),
        (
            "a.md",
            "[um dois][], isso[^tres]\n\n[^tres]: quatro cinco\n\n[um dois]: a",
            ["um dois, isso", "quatro cinco"],
        ),
        ("a.md", "[Um](#um-dois)\n\n## Um dois\n\n## Tres", ["Um", "Tres"]),
        ("a.md", "um\n\n{% highlight js %}\ndois\n{% endhighlight %}\n\ntres", ["um", "tres"]),
        ("a.yaml", '"um": "dois tres"\n"quatro": "cinco seis"\n', ["dois tres", "cinco seis"]),
        ("a.pl", "# um dois\nsub tres { $x->quatro; }\n", ["um dois"]),
        (
            "a.py",
            'print("Nao foi possivel abrir o arquivo dados.csv"); print("<< Voltar ao inicio")',
            ["Nao foi possivel abrir o arquivo dados.csv", "<< Voltar ao inicio"],
        ),
        ("a.mdx", "import a from './b'\n\num dois\n", ["um dois"]),  # a module is code
        ("a.py", 'a("Selecione um"); b("Ordem de dois"); c("E tres")', ["Selecione um", "Ordem de dois", "E tres"]),
        ("a.html", "<p>um<code>a<code></p><p>dois</p><code><p>b</p><p>c</p></code>tres", ["um", "dois", "tres"]),
        (
            "a.svelte",
            "<b a={() => c(d, {e: 1})}>um x={f}</b><i title='dois' g={h => 'j k'}>tres",
            ["dois", "um x={f}tres"],
        ),
        ("a.md", "<div\n a={() => c(\n d, 1)}>um</div>\n\ndois", ["um", "dois"]),
        (
            "a.md",
            '!!! note "Um"\n    dois\n\n        codigo\n\n    ??? tip\n\n        tres\n\n        ```\n        codigo\n'
            '\n        codigo\n        ```\n\n    quatro\n\n=== "Cinco"\n\n\tseis\n\nsete\n\n    codigo\n',
            ['note "Um"', "dois", "tip", "tres", "quatro", '"Cinco"', "seis", "sete"],
        ),
        ("a.md", "```\n!!! note\n\n    ```\n    codigo\n    ```\n```\n\num\n\n    codigo\n", ["um"]),
        (
            "a.md",
            ":::{figure} a.png\n:name: um-dois\n:alt: tres\n\nquatro\n:::\n",
            [":::{figure} a.png", ":alt: tres", "quatro :::"],
        ),
        ("a.md", ":::{note}\n---\nname: a b\n---\num\n:::\n", [":::{note}", "um :::"]),
        ("a.md", "um\n\n:::{toctree}\n:a: b\n\ndois\n:::\n\ntres\n", ["um", "tres"]),
        (
            "a.rst",
            "Um dois\n=======\n\nVeja `Um\ndois`_ e Tres_.\n\nTres\n----\n\nQuatro\n------\n",
            ["Veja", "_ e Tres_.", "Quatro ------"],
        ),
        ("a.rst", "Um dois\r\n=======\r\n\r\nVeja :ref:`x <a:um dois>`.", ["======= Veja :ref: x ."]),
        (
            "a.js",
            "/**\n * @swagger\n * /a:\n *   get:\n *     summary: Um dois\n *     parameters:\n *       - in: query\n"
            " *         name: tres\n */\n",
            ["Um dois"],
        ),
    ],
)
def test_blocks(name, source, expected):
    assert [" ".join(text.split()) for text in prose_of(name, source)] == [" ".join(each.split()) for each in expected]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.html", "<meta name='viewport' content='um dois'><meta content='tres'><p content='quatro'>"),
        ("a.yaml", "run: cd um && dois tres\n"),
        ("a.yaml", "a:\n- run: |\n    cd um\n\n    dois tres\n"),
        ("a.yaml", "working-directory: >-\n  um dois\n'cmd': tres quatro\n"),
        ("a.yaml", "args:\n- um dois\n- 'tres quatro'\nfilePath: cinco seis\n"),
        ("a.yaml", "{command: [um dois, tres quatro]}\n"),
        ("a.json", '{"scripts": {"build": "cd um", "test": ["dois tres"]}, "args": ["um dois", "tres quatro"]}'),
        (
            "a.yaml",
            "run: Um dois\ncmd: um dois.\nexec: Um dois.exe\nshell: Um -x dois.\nargs: [Um dois, Tres=quatro cinco.]",
        ),
        ("a.toml", "cmd = 'um dois'\nargs = ['um dois', 'tres quatro']\n"),
        ("a.jsx", 'a = <b className="um dois" id="um dois" key={"um dois"} htmlFor={`um dois`}></b>'),
        ("a.js", 'a.querySelector("um dois"); $("um dois"); exec("um dois"); a = {path: "um dois"}'),
        ("a.py", 'a["um dois"]; a[["um dois", "tres quatro"]]; a()["um dois"]'),
        ("a.py", 'b"um dois"; rb"um dois"; a = {"um dois": 1}; a.get("um dois"); a("um dois.csv")'),
        ("a.py", 'a = {"um dois": 1}; b = ["um dois"]; c(b"tres quatro", "tres quatro")'),
        ("a.py", 'open("um dois tres quatro cinco seis sete.csv"); pd.read_csv("um dois"); re.search("um dois", a)'),
        ("a.rs", 'let a = br#"um dois"#; let b = b"um dois";'),
        ("a.sh", "cat <<EOF\num dois\nEOF\n"),
        ("a.html", "<i18n>{'um dois': 'tres quatro'}</i18n>"),
        ("a.py", 'os.system("um dois"); subprocess.run(\n    ["um", f"{a} dois tres"], cwd="um dois")'),
        ("a.py", 'a("select b, c from d order by b"); e(" ORDER BY b "); f(" FROM b c "); g(" AND b IS NULL ")'),
        ("a.py", 'a("""\n    select b,\n    c\n    from d\n    """)'),
        ("a.go", 'type A struct {\n\tB string `json:"b" db:"um dois"`\n}\n'),
        (
            "a.jsx",
            'a = <b className={c === "x" ? "um dois" : "tres quatro"} style={{d: 1}}></b>; '
            'clsx("um dois", e && "tres quatro")',
        ),
        ("a.py", 'namedtuple("Um", "dois tres"); Enum("Um", names="dois tres"); "um dois".split(); gql("um dois")'),
        ("a.js", "a = gql`um ${b} dois`; c = styled.d`um\ndois`; 'um dois'.split(' ')"),
        ("a.yaml", "test: [a, um dois]\nentry: um dois\ninlineScript: |\n  um dois\nraw: um dois\npwsh: um dois\n"),
    ],
)
def test_commands_paths_and_keys_are_not_read(name, source):
    assert prose_of(name, source) == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.yaml", "a:\n- run: cd um\n- dois tres\n"),
        ("a.yaml", "a:\n- run: cd um\n  b: dois tres\n"),
        ("a.yaml", "file:\n  a: dois tres\n"),
        ("a.json", '[{"file": {"a": "dois tres"}, "run": "cd um"}]'),
        ("a.json", '{"a": {"scripts": {"b": "cd um"}}, "c": "dois tres"}'),
        ("a.json", '{"file": "cd um", "file_missing": "dois tres"}'),
        ("a.json", '[{"run": "cd um"}, "dois tres"]'),
        ("a.jsx", 'a = <b title="dois tres"></b>'),
        ("a.py", 'print("dois tres", file=a)'),
        ("a.py", 'class File:\n    """dois tres"""'),
        ("a.py", 'Annotated[int, "dois tres"]'),
        ("a.js", 'return ["dois tres"]'),
        ("a.js", 'a = b ? "dois tres" : c'),
        ("a.php", '<?php $a ? "um" . $b . "dois tres" : "c";'),
        ("a.js", 'a = {command: {help: "dois tres"}}'),
    ],
)
def test_what_is_beside_them_is_read(name, source):
    assert [text.strip() for text in prose_of(name, source)] == ["dois tres"]


MARKUP = ["nao ", "\r\n", "```", "---\n", "<!--", "<![", "<code>", "&atilde;", "~\u0303", 'msgstr "', ".. note::"]
MARKUP += ["\n   ", "-->", "title='", "/*", "*/", '"""']
MARKUP += ["$$", "\\[", "\\]", "\\|", "[[", "]]", ">>> ", "run:", ":alt: "]
MARKUP += ["!!! note\n", "    ", "<b ", "={() => ", "}}", ":::{note}\n", ":a: ", "====\n", "tags: "]


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(ENDINGS)),
    st.lists(
        st.one_of(st.text(max_size=8), st.sampled_from("\n\r\t`*_#[]()<>!&;:|-'\"{}\\$=~."), st.sampled_from(MARKUP)),
        max_size=40,
    ),
)
def test_any_text_is_read_in_its_places(ending, pieces):
    prose_of(f"a{ending}", "".join(pieces))


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("close", ["---", "..."])
def test_keys_of_front_matter_are_not_read(line_end, close):
    lines = ["---", "um: dois tres", "quatro: cinco", close, "", "# seis", ""]
    assert [" ".join(text.split()) for text in prose_of("a.md", line_end.join(lines))] == ["dois tres", "seis"]


@pytest.mark.parametrize(
    "front",
    [
        "---\r\ntitle: um dois\r\ncategories: tres quatro\r\ntags:\r\n- tres quatro\r\n---\r\n",
        '+++\nslug = "tres quatro"\ntags = [\n  "tres quatro",\n]\ntitle = "um dois"\n+++\n',
    ],
)
def test_fields_of_front_matter_of_which_sites_make_addresses_are_not_read(front):
    assert [text.strip() for text in prose_of("a.md", front)] == ["um dois"]


@pytest.mark.parametrize("opening", ["<![CDATA[", "<![if ", "<!-- ", "<p "])
def test_marks_without_an_end_take_little_time(opening):
    start = process_time()
    find_prose("a.html", opening * 20_000)
    assert process_time() - start < 5


@pytest.mark.parametrize("value", ["'Um, dois tres-lhe.'", '"Um, dois tres-lhe."', "Um, dois tres-lhe."])
def test_a_sentence_is_no_command_whatever_its_key(value):
    texts = prose_of("a.yaml", f"run: cd um\nfile: {value}\nkey: d e\n")
    assert [text.strip() for text in texts] == ["Um, dois tres-lhe."]


def test_names_of_code_are_told():
    assert {"situacao", "x"} <= find_prose("a.py", "situacao = x").names
    jsx = "let a: B<string> = (c) => c.d > e.f; <p g='h'>nao e, {i} nao <b>foi</b> {j} nao</p>"
    assert {*"abcdefgij"} <= find_prose("a.tsx", jsx).names
    assert not {"nao", "foi"} & find_prose("a.tsx", jsx).names
    assert find_prose("a.md", "situacao = x").names == set()
    assert find_prose("a.yaml", "situacao: a situacao\n").names == set()  # values may have the words of their keys


def test_files_that_programs_read_by_their_names_have_no_ending():
    for name in ("CMakeLists.txt", "requirements.txt", "requirements-dev.txt", "docs_requirements.txt", "robots.txt"):
        assert ending_of(name) not in ENDINGS
    assert ending_of("Requisitos.TXT") == ".txt"
