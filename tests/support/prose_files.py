"""Files of each type, made of sentences, with a bare word in all that is no prose."""

import json

CODE = "situacao"  # what must never change where it stands for code


def make_files(sentences):
    """Return the text of a file of each type, by its name; every sentence is in each file once."""
    return {
        "a.md": _markdown(sentences),
        "a.html": _html(sentences),
        "a.rst": _structured(sentences),
        "a.po": _messages(sentences),
        "a.srt": "\n".join(
            f"{number}\n00:00:{number % 60:02}.000 --> 00:00:{number % 60:02}.900 X:{CODE}\n<i>{each}</i>\n"
            for number, each in enumerate(sentences)
        ),
        "a.vtt": f"WEBVTT {CODE}\n\nNOTE {CODE} nao\n\n"
        + "\n".join(f"{CODE}-{number} --> 00:01\n{each}\n" for number, each in enumerate(sentences)),
        "a.json": json.dumps(
            [{CODE: CODE, f"{CODE} {n}": each} for n, each in enumerate(sentences)], ensure_ascii=False
        ),
        "a.yaml": f"{CODE}:\n"
        + "".join(f"  - {CODE}: {CODE}\n    {CODE}: {json.dumps(each, ensure_ascii=False)}\n" for each in sentences),
        "a.py": "".join(
            f"def {CODE}():\n"
            f"    # {each}\n"
            f'    """{each}\n\n    >>> {CODE}("nao")\n    {CODE} nao\n\n    :param {CODE}: {each}\n    """\n'
            f'    return {CODE}["{CODE}"] + f"{each} {{{CODE}}}"\n'
            for each in map(_quotable, sentences)
        ),
        "a.js": "".join(
            f"/** @param {CODE} {each} */\nconst {CODE} = '{each}'; // {each}\nlet r = /{CODE} nao e/;\n"
            for each in (_quotable(each).replace("'", "") for each in sentences)
        ),
        "a.txt": "\n".join(sentences) + f"\nVeja docs/{CODE}.md, --{CODE}, {CODE}_2 e http://exemplo.com/{CODE}.\n",
    }


def _quotable(sentence):
    return sentence.replace("\\", "").replace('"', "").replace("{", "").replace("}", "")


def _markdown(sentences):
    blocks = [f"---\ntitle: {sentences[0]}\n{CODE}: {CODE}\n---\n\n# {sentences[0]}"]
    for number, each in enumerate(sentences):
        blocks += [
            f'> - **{each}** `{CODE}` [{each}]({CODE}.md "{CODE}")',
            f"| {each.replace('|', '')} | `{CODE}` |\n| --- | --- |\n| ![{each}]({CODE}.png) | <kbd>{CODE}</kbd> |",
            f"```python\n{CODE} = 'nao e {CODE}'\n```\n\n    {CODE} nao e\n",
            f'<p class="{CODE}" title="x">{each} <code>{CODE} nao</code></p>',
            f"[{number}]: http://exemplo.com/{CODE}",
        ]
    return "\n\n".join(blocks) + "\n"


def _html(sentences):
    return f"<!DOCTYPE html>\n<html><head><script>var {CODE} = 'nao e {CODE}';</script></head><body>\n" + "".join(
        f'<div id="{CODE}" data-{CODE}="nao e {CODE}"><p>{each} <b>{each}</b>&nbsp;<a href="{CODE}.html">'
        f'<img src="{CODE}.png" alt="{each.replace(chr(34), "")}"></a></p><pre>{CODE} nao e</pre></div>\n'
        for each in (each.replace("<", "").replace("&", "e") for each in sentences)
    )


def _structured(sentences):
    return "\n\n".join(
        f"{each}\n\n.. note:: {each}\n\n.. code-block:: python\n\n   {CODE} = 'nao e'\n\n"
        f".. toctree::\n   :{CODE}:\n\n   {CODE}\n\n.. image:: {CODE}.png\n\nVeja ``{CODE} nao`` e "
        f":class:`nao {CODE} <{CODE}>`"
        for each in (each.replace("`", "").replace("*", "").strip() for each in sentences)
    )


def _messages(sentences):
    header = (
        'msgid ""\nmsgstr ""\n"Project-Id-Version: nao e situacao\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    )
    return header + "".join(
        f'\n#: {CODE}.py:1\nmsgctxt "nao e {CODE}"\nmsgid "{CODE} nao e"\nmsgstr ""\n"{each} "\n"%({CODE})s\\n"\n'
        for each in map(_quotable, sentences)
    )
