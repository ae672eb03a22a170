"""Values that programs read, such as commands, paths and selectors, by the name of what holds them."""

import re
from collections.abc import Iterable, Iterator

from pygments.token import Literal, Name, Other, Punctuation, String, _TokenType

Token = tuple[int, _TokenType, str]

# In lower case and without hyphens and underscores. Only whole names: `file_missing` may hold a message.
_HOLDERS = frozenset(
    re.findall(
        r"\w+",
        "afterscript args arquivo arquivos beforescript buildcommand caminho caminhos class classname cmd "
        "cmds comando comandos command commands cwd dir directory diretorio entrypoint exec file filename "
        "filepath files folder href htmlfor id installcommand key pasta path paths postcreatecommand regex "
        "run script scripts selector shell src startcommand style url uses workdir workingdir "
        "workingdirectory",
    )
)
# In YAML, also of healthchecks, hooks and pipelines; in code they may hold messages.
_HOLDERS_IN_YAML = _HOLDERS | frozenset(re.findall(r"\w+", "bash entry inlinescript powershell pwsh raw sh test"))
_FUNCTIONS = frozenset(
    re.findall(
        r"[\w$]+",
        "$ checkcall checkoutput closest command exec execfile execfilesync execsync file getelementbyid "
        "get getitem getelementsbyclassname getoutput gql matches open passthru path popen queryselector "
        "queryselectorall require shellexec spawn spawnsync system",
    )
)
_MODULES = ("subprocess.", "os.path.", "re.", "pd.read_")
# What stands before a string: a name and `:`, `=` or `(`, brackets and, in a list, other strings.
_HOLDER = re.compile(
    r"([\w$.-]+)(?:[\"']?:[ \t]*|[ \t]*=\s*|[ \t]*(\()\s*)(?:[\[{(][^\[\]{}():=]*)?\w{0,2}\Z"  # `f` of an f-string
)
_ATTRIBUTE = re.compile(r"([\w-]+)=\{(?:[^{}]|\{[^{}]*\})*(?:\{[^{}]*)?\Z")  # of JSX
# What stands before names of classes, fields and members, and what after a list of words.
_NAMES = re.compile(
    r"(?:(?i:\b(?:classnames?|clsx|cn|cva|cx|twmerge)\((?:[^()]|\([^()]*\))*)|"
    r"\b(?:namedtuple|Flag|\w*Enum)\(\s*[\"'][\w ]*[\"']\s*,\s*(?:\w+\s*=\s*)?)\Z"
)
_SPLIT = re.compile(r"\s*\.split\((?:[\"'] [\"'])?\)")
_LANGUAGE = re.compile(r"\b(?:createGlobalStyle|css|gql|graphql|keyframes|sql|styled[.(][^`;]*)\Z")  # of a template
# A message under such a name, after its colon: words from a capital to the sign that ends the sentence, and no others.
_SENTENCE = re.compile(r":?[ \t]*[\"']?[A-ZÀ-Ý]\w*(?:[,;:]? \w[\w-]*)+[.!?…](?=[\"']|[ \t]*$)", re.MULTILINE)
_SUBSCRIPT = re.compile(r"[\w)\]]\[(?:\[[^\[\]]*|\s*)\w{0,2}\Z")
_SUBSCRIPT_END = re.compile(r"\s*[\],]")
_KEY_END = re.compile(r"\s*(?:=>|:(?![:=]))")  # but in a choice, such as `a ? "b c" : d`
_CHOICE = re.compile(r"[?+.&*~]\s*(?:u8|[LuUR$@])?\Z")
_BYTES = re.compile(r"(?<!\w)(?:[bB][rR]?|[rR][bB])\Z")  # before a string, which then has ASCII only
_BYTES_OF_RUST = re.compile(r'br?#*"')
_LONGEST = 200  # characters


def is_for_programs(source: str, start: int, end: int) -> bool:
    """Return whether a string of code that takes these places is a key, bytes, a command, a path or a selector."""
    before = source[max(0, start - _LONGEST) : start]
    if _SUBSCRIPT.search(before) and _SUBSCRIPT_END.match(source, end):
        return True
    if _BYTES.search(before) or _BYTES_OF_RUST.match(source, start):
        return True
    if _KEY_END.match(source, end) and not _CHOICE.search(before):
        return True
    if _NAMES.search(before) or _SPLIT.match(source, end) or (source[start] == "`" and _LANGUAGE.search(before)):
        return True
    holder = _HOLDER.search(before)
    if holder and not holder[2]:
        return _bare(holder[1]) in _HOLDERS
    if holder and (_bare(holder[1]) in _FUNCTIONS or holder[1].startswith(_MODULES)):
        return True
    attribute = _ATTRIBUTE.search(before)
    return attribute is not None and _bare(attribute[1]) in _HOLDERS


def without_program_values(tokens: Iterable[Token], source: str, *, in_yaml: bool) -> Iterator[Token]:
    """Yield the tokens of YAML or JSON; values of keys that hold commands or paths are strings no more.

    Keys inside such a value decide for themselves, except those of `scripts`, which are names of commands. A sentence
    is no command, though a key such as `file` may hold it.
    """
    depth = line_start = 0  # braces and brackets that are open; where the line begins
    holder: tuple[int, int] | None = None  # depth and column of the key whose value is left out
    holds_keys = False
    text = ""  # the last string, which a colon makes a key
    for start, kind, value in tokens:
        level = (depth, 0 if depth else start - line_start)
        is_key = kind in Name.Tag or (kind in Punctuation and value == ":" and text)
        if is_key and not (holds_keys and holder and level > holder):
            name = _bare(value if kind in Name.Tag else text)
            is_sentence = _SENTENCE.match(source, start + len(value))
            holder = level if name in (_HOLDERS_IN_YAML if in_yaml else _HOLDERS) and not is_sentence else None
            holds_keys = name == "scripts"
        elif kind in Punctuation:
            depth += sum(map(value.count, "[{")) - sum(map(value.count, "]}"))
            if holder and (depth < holder[0] or (value == "-" and level < holder)):
                holder = None
        text = value if kind in String and value.strip("\"'") else text if kind in String else ""
        if holder and (kind in Literal or kind in (Name.Constant, Name.Variable)):
            kind = Other
        if "\n" in value:
            line_start = start + value.rindex("\n") + 1
        yield start, kind, value


def _bare(name: str) -> str:
    """Return the last part of a name with full stops in lower case, without quotes, hyphens and underscores."""
    return re.sub(r"[\"'\s_-]", "", name.rpartition(".")[2]).lower()
