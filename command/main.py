"""The command `atenta`: train, predict, restore, check, phonemize, evaluate, info, show, export and push."""

from atenta.recipes.terminal import allow_interrupts

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import typer

from atenta.command.recipe_commands import PASSED_ON, RecipeCommand, export, import_with_extra, show, train
from atenta.command.standard_streams import errors_in_a_line, standard_streams
from atenta.command.text_lines import print_results, printable_lines
from atenta.engines.choice import IN_TORCH, EngineName, Quantization

app = typer.Typer(
    help="Character-level Transformers: train them, use them, look inside, publish them.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # tables of rich cut the names of options in a narrow terminal
)

Model = Annotated[str, typer.Argument(help="Folder of a saved model, or its name on the Hub.")]
Texts = Annotated[list[str] | None, typer.Argument(help="Texts. Default: the lines of standard input.")]
Files = Annotated[list[Path] | None, typer.Option("--files", metavar="FILE", help="UTF-8 file of lines; repeatable.")]
EngineOption = Annotated[EngineName, typer.Option("--engine", help="auto: onnxruntime if the model is exported.")]
QuantizationOption = Annotated[
    Quantization | None, typer.Option("--quantization", help="Use the ONNX files that were exported in int8.")
]
Device = Annotated[
    str | None, typer.Option("--device", metavar="NAME", help="Device of torch, such as cpu or cuda:0.")
]
BatchSize = Annotated[int, typer.Option("--batch_size", min=1, metavar="N", help="Texts that are generated together.")]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust_remote_code", help="Run the Python code of other people's models, whatever it does.")
]
Beams = Annotated[
    int | None, typer.Option("--num_beams", min=1, metavar="N", help="Width of the beam search; 1: greedy.")
]
Ensemble = Annotated[
    list[str] | None, typer.Option("--ensemble", metavar="MODEL", help="A further model to average; repeatable.")
]
KeepLetters = Annotated[
    bool, typer.Option("--keep_letters", help="Keep the letters of the source; only accents may change.")
]
PortugueseVariant = Annotated[
    Literal["br", "pt"] | None,
    typer.Option("--variant", case_sensitive=False, help="Marks of Brazil or of Portugal: acadêmico, académico."),
]
Confidence = Annotated[
    float,
    typer.Option(
        "--min_confidence",
        min=0,
        max=1,
        metavar="NUMBER",
        show_default=False,
        help="Restore only characters that are at least this probable.",
    ),
]


def _version(asked: bool) -> None:
    if asked:
        print(f"atenta {version('atenta')}")
        raise typer.Exit()


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


app.command(cls=RecipeCommand, short_help="Train a model with a recipe.", context_settings=PASSED_ON)(train)


@app.command(short_help="Use a model on lines of text.")
def predict(
    model: Model,
    texts: Texts = None,
    files: Files = None,
    json_lines: Annotated[
        bool, typer.Option("--json_lines", help="Lines are JSON: texts, or objects with `text` (and `tags`).")
    ] = False,
    format: Annotated[
        Literal["text", "tsv", "jsonl"] | None, typer.Option("--format", help="Default: text; tsv for several.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="File to write. Default: standard output.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an --output that was interrupted.")] = False,
    num_beams: Beams = None,
    num_return_sequences: Annotated[
        int | None,
        typer.Option("--num_return_sequences", min=1, metavar="N", help="Results for each text, best first."),
    ] = None,
    max_new_tokens: Annotated[
        int | None, typer.Option("--max_new_tokens", min=1, metavar="N", help="Longest output, in characters.")
    ] = None,
    do_sample: Annotated[bool, typer.Option("--do_sample", help="Draw characters at random.")] = False,
    temperature: Annotated[
        float | None, typer.Option("--temperature", metavar="NUMBER", help="For --do_sample; below 1, less varied.")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option("--top_p", metavar="NUMBER", help="Draw from the most probable, up to this probability."),
    ] = None,
    keep_letters: KeepLetters = False,
    min_confidence: Confidence = 0.0,
    ensemble: Ensemble = None,
    engine: EngineOption = "auto",
    quantization: QuantizationOption = None,
    device: Device = None,
    batch_size: BatchSize = 32,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Use a model on texts: a result for each line, in their order.

    Every kind of model with a head: text to text, continuations, labels, tags (a line for each word), restored
    characters, masks, and answers (lines of JSON with `question` and `context`). Feature tags
    follow a tab: ser<TAB>V;PL.
    """
    asked = num_return_sequences or 1
    if asked > 1 and format == "text":
        raise typer.BadParameter(f"--format text has one result for each line, not {asked}: give tsv or jsonl.")
    _check_sources(texts, files)
    _check_one_engine(engine, quantization, device, ensemble)
    if resume and output is None:
        raise typer.BadParameter("--resume needs the --output that it goes on with.")
    generate = {
        "num_beams": num_beams,
        "num_return_sequences": num_return_sequences,
        "max_new_tokens": max_new_tokens,
        "do_sample": do_sample or None,
        "temperature": temperature,
        "top_p": top_p,
    }
    with errors_in_a_line():
        from atenta.command.predict import check_device, predict_lines
        from atenta.command.served_models import PredictOptions

        check_device(device)
        options = PredictOptions(
            model,
            engine,
            quantization,
            device,
            trust_remote_code,
            batch_size,
            {name: value for name, value in generate.items() if value is not None},
            keep_letters,
            min_confidence,
            tuple(ensemble or ()),
        )
        predict_lines(
            options,
            texts or [],
            files or [],
            json_lines=json_lines,
            format=format or ("tsv" if asked > 1 else "text"),
            output=output,
            resume=resume,
        )


@app.command(short_help="Restore the accents of Portuguese.")
def restore(
    texts: Texts = None,
    files: Annotated[
        list[Path] | None, typer.Option("--files", metavar="FILE", help="UTF-8 file, read as a whole; repeatable.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="MODEL", help="Another model: all that it restores, or what is asked for."),
    ] = None,
    capitals: Annotated[bool, typer.Option("--capitals", help="Restore capitals too.")] = False,
    punctuation: Annotated[bool, typer.Option("--punctuation", help="Restore , . ? ! : and ; too.")] = False,
    no_accents: Annotated[bool, typer.Option("--no_accents", help="Leave accents as they are.")] = False,
    variant: PortugueseVariant = None,
    min_confidence: Confidence = 0.0,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write JSON, with the probability of each character.")
    ] = False,
) -> None:
    """Restore the accents of Portuguese, and its capitals and signs, with the models that come with atenta.

    Texts and lines of standard input are restored one by one. A file is restored as a whole, so that a word has the
    lines around it as its context.
    """
    _check_sources(texts, files)
    with errors_in_a_line():
        from atenta.command.restore import restore_texts

        switches = {"accents": not no_accents, "capitals": capitals, "punctuation": punctuation}
        restored = [name for name, is_on in switches.items() if is_on]
        restore_texts(texts or [], files or [], model, restored, variant, min_confidence, probabilities)


@app.command(short_help="Write texts as phones.")
def phonemize(
    texts: Texts = None,
    files: Files = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="MODEL", help="A folder, or a name on the Hub. Default: the package's own."),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option("--variant", metavar="NAME", help="A tag of the model, such as br or pt. Default: the first."),
    ] = None,
    format: Annotated[
        Literal["text", "lexicon", "jsonl"],
        typer.Option("--format", help="lexicon: each word once, without stress marks."),
    ] = "text",
    lexicon: Annotated[
        Path | None,
        typer.Option(
            "--lexicon",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Your own: word<TAB>phones separated by spaces.",
        ),
    ] = None,
    n_best: Annotated[
        int, typer.Option("--n_best", min=1, metavar="N", help="Readings of each word, in jsonl and lexicon.")
    ] = 1,
    punctuation: Annotated[bool, typer.Option("--punctuation", help="Keep what is between words.")] = False,
    engine: EngineOption = "auto",
    quantization: QuantizationOption = None,
) -> None:
    """Write texts as phones: a line for each line, words separated by spaces.

    In Portuguese, numbers, dates, amounts and abbreviations are read out, if num2words is installed. The other
    reading of a homograph, such as gosto, and how sure the model is of each word, are in jsonl.
    """
    _check_sources(texts, files)
    _check_one_engine(engine, quantization, None, None)
    if n_best > 1 and format == "text":
        raise typer.BadParameter(f"--format text has one reading of each word, not {n_best}: give jsonl or lexicon.")
    with errors_in_a_line():
        from atenta.command.phonemize import phonemize_texts

        phonemize_texts(
            texts or [],
            files or [],
            model,
            variant=variant,
            format=format,
            lexicon=lexicon,
            n_best=n_best,
            punctuation=punctuation,
            engine=engine,
            quantization=quantization,
        )


def _parse_path(text: str) -> Path:
    if not text:  # such as a variable that is not set; as a path it would be the current folder
        raise typer.BadParameter("found an empty path; expected a file or a folder.")
    return Path(text)


@app.command(short_help="Find missing accents in files.")
def check(
    paths: Annotated[
        list[Path],
        typer.Argument(
            parser=_parse_path, metavar="PATHS", help="Files, and folders with all that git does not ignore."
        ),
    ],
    write: Annotated[bool, typer.Option("--write", help="Add the accents to the files.")] = False,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            "--min-confidence",
            "--min_confidence",
            min=0,
            max=1,
            metavar="NUMBER",
            help="Report only words that are at least this certain. Default: 0.99.",
        ),
    ] = None,
    variant: PortugueseVariant = None,
    words: Annotated[
        list[str] | None, typer.Option("--word", metavar="WORD", help="Word to leave alone; repeatable.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the sentence as it stands and as it should be.")
    ] = False,
    format: Annotated[
        Literal["text", "json", "github", "sarif"], typer.Option("--format", help="Format of the findings.")
    ] = "text",
    processes: Annotated[
        int | None,
        typer.Option("--processes", min=1, metavar="N", help="Number of processes. Default: as many as save time."),
    ] = None,
) -> None:
    """Find missing accents in Portuguese files: documents, subtitles, messages, comments and strings of code.

    Settings are in .atenta-check.toml, or in [tool.atenta-check] of pyproject.toml. The exit status is 0 if nothing
    was found or all was written, 1 if accents are missing, and 2 if a setting or a path is wrong, or a file cannot be
    read. Files that are not checked, such as binary ones, are named.
    """
    try:
        with errors_in_a_line():
            from atenta.command.check import check_paths

            is_left = check_paths(
                paths,
                write=write,
                min_confidence=min_confidence,
                variant=variant,
                words=words or [],
                explain=explain,
                format=format,
                processes=processes,
            )
    except SystemExit as ended:
        if not isinstance(ended.code, str):
            raise
        print(ended.code, file=sys.stderr)
        raise typer.Exit(2) from None
    raise typer.Exit(int(is_left))


@app.command(short_help="Score a model on a file.")
def evaluate(
    model: Model,
    test_file: Annotated[
        Path, typer.Option("--test_file", metavar="FILE", help="File in a format of the model's recipe.")
    ],
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", metavar="NAME", help="Metric of pairs of texts; repeatable.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="JSON file to write the scores to.")
    ] = None,
    num_beams: Beams = None,
    keep_letters: KeepLetters = False,
    min_confidence: Confidence = 0.0,
    engine: EngineOption = "auto",
    quantization: QuantizationOption = None,
    device: Device = None,
    batch_size: BatchSize = 32,
    ensemble: Ensemble = None,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Score a model on a file: pairs, labels, tags, questions, restored characters, or texts for a decoder."""
    _check_one_engine(engine, quantization, device, ensemble)
    with errors_in_a_line():
        from atenta.engines.saved_model import find_model

        if not test_file.exists() or test_file.is_dir():
            found = "a folder" if test_file.is_dir() else "no such file"
            raise FileNotFoundError(f"{test_file}: found {found}; expected a file")
        find_model(model, with_code=trust_remote_code)
        module = import_with_extra("atenta.command.evaluate")
        from atenta.command.predict import check_device
        from atenta.command.served_models import PredictOptions

        allow_interrupts()
        check_device(device)
        generate = {} if num_beams is None else {"num_beams": num_beams}
        options = PredictOptions(
            *(model, engine, quantization, device, trust_remote_code, batch_size, generate),
            *(keep_letters, min_confidence),
            ensemble=tuple(ensemble or ()),
        )
        module.evaluate_model(options, test_file, metrics or [], output)


@app.command(short_help="Say what a model is, from its files.")
def info(
    model: Model,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with all characters and files.")] = False,
) -> None:
    """Say what a model is: its kind, size, alphabet, tags and scores, from its files alone."""
    with errors_in_a_line():
        from json import dumps

        from atenta.command.info import describe_model, format_description

        described = describe_model(model)
        text = dumps(described, indent=2, ensure_ascii=False) if json else format_description(model, described)
        print_results((text if json else printable_lines(text)) + "\n")


app.command(short_help="Draw what a model does.", context_settings=PASSED_ON)(show)
app.command(short_help="Write ONNX files, or a folder for transformers alone.", context_settings=PASSED_ON)(export)


@app.command(short_help="Push a model to the Hub.")
def push(
    folder: Annotated[Path, typer.Argument(help="Folder of a saved model.")],
    repository: Annotated[str, typer.Argument(help="Its name on the Hub, such as ana/accents.")],
    public: Annotated[bool, typer.Option("--public", help="Let everyone see it. Default: only its owner.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace files that differ.")] = False,
    collection: Annotated[
        str | None,
        typer.Option("--collection", metavar="TITLE", help="Title of a collection with its ONNX files beside it."),
    ] = None,
) -> None:
    """Push a model to the Hub: weights, tokenizer, code, card, figures and ONNX files, in one commit."""
    with errors_in_a_line():
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder}: found no such folder; expected that of a saved model.")
        from atenta.hub.publishing import PushError, plan_push, push_folder
        from atenta.hub.push_files import select_files

        allow_interrupts()
        files = select_files(folder)
        try:
            plans = plan_push(folder, repository, private=not public, collection=collection)
        except PushError:
            print(f"To push to {repository}, unless it has them already: {files}")
            raise
        print("\n".join(map(str, plans)))
        if any(plan.replaces for plan in plans) and not replace:
            raise ValueError("The repository has files that differ: give --replace, or another repository.")
        print(push_folder(folder, repository, private=not public, replace=replace, collection=collection))


def _check_sources(texts: list[str] | None, files: list[Path] | None) -> None:
    if texts and files:
        raise typer.BadParameter("found texts and --files; expected one of them. Several: --files A --files B.")
    if missing := [path for path in files or [] if not path.exists() or path.is_dir()]:
        found = "a folder" if missing[0].is_dir() else "no such file"
        raise typer.BadParameter(f"--files {missing[0]}: found {found}; expected a file.")


def _check_one_engine(engine: str, quantization: str | None, device: str | None, ensemble: list[str] | None) -> None:
    exported = f"--quantization {quantization}" if quantization else f"--engine {engine}" * (engine not in IN_TORCH)
    of_torch = "--engine torch" if engine == "torch" else "--ensemble" if ensemble else "--device" if device else None
    if exported and of_torch:
        raise typer.BadParameter(f"found {exported}, which torch does not run, and {of_torch}: give one of them.")


def main() -> None:
    """Run the command."""
    with standard_streams():
        app(prog_name="atenta")
