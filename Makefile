# `make` lists the targets. Each makes the environment that it needs. PYTHON, WORKERS and, for training in
# pretrain-finetune, OPTIONS may be given: `make pretrain-finetune OPTIONS="--max_steps 300"`.
PYTHON ?= python3.11
WORKERS ?= 2
OPTIONS ?=
FUZZ ?=
CORES := $(shell getconf _NPROCESSORS_ONLN)

ENVIRONMENT := .venv/.installed
OLDEST_ENVIRONMENT := .venv-oldest/.installed
PYTEST := -m pytest --numprocesses $(WORKERS) --dist worksteal  # neighbours share fixtures

DECODERS ?= outputs
ACCENTS_MODEL := outputs/portuguese_accents
SPEECH_MODEL := outputs/portuguese_speech
PHONES_MODEL := outputs/portuguese_phones
PHONES_TEACHERS := outputs/phones_teacher
TRAIN_PHONES := ACCELERATE_USE_CPU=true OMP_NUM_THREADS=1 .venv/bin/accelerate launch --config_file recipes/launch/cpus.yaml \
	recipes/finetune_letters.py
PAGE_MODEL := outputs/page_model
RECIPES := seq2seq pretrain_causal pretrain_masked pretrain_denoising finetune_classification finetune_tagging finetune_qa finetune_generation

.PHONY: help run demo hub-check accents-model speech-model phones-model page-model recipes results results-full pretrain-finetune bench test test-slow test-oldest fuzz kill-test docs lint format suites clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

run: $(ENVIRONMENT)  ## train the accents model, score it, and decode with it: five minutes
	OMP_NUM_THREADS=$(CORES) .venv/bin/accelerate launch \
		--num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no recipes/seq2seq.py

# If it is stopped, it goes on from its last checkpoint.
accents-model: $(ENVIRONMENT)  ## train the model of `restore_accents` and put it into the package: an hour and three quarters
	ACCELERATE_USE_CPU=true OMP_NUM_THREADS=1 .venv/bin/accelerate launch --config_file recipes/launch/cpus.yaml \
		recipes/finetune_characters.py --output_dir $(ACCENTS_MODEL) --card_title "Accents of Portuguese"
	cd $(ACCENTS_MODEL) && cp config.json model.safetensors spellings.txt tokenizer.json tokenizer_config.json \
		README.md metrics.json predictions.tsv reliability.png $(CURDIR)/restoration/portuguese_accents
	cd restoration && ../.venv/bin/python -c 'from atenta.hub.card import write_model_card; write_model_card("portuguese_accents")'
	.venv/bin/python -c 'from atenta.recipes.samples.portuguese_texts import portuguese_texts; \
		print(*(row["source"] for row in portuguese_texts()["train"]), sep="\n")' > $(ACCENTS_MODEL)/train_sources.txt
	.venv/bin/python recipes/export.py restoration/portuguese_accents --quantization int8 \
		--texts $(ACCENTS_MODEL)/train_sources.txt

# It starts from the model of `restore_accents`, without the n-grams and the last block, so that it is small.
speech-model: $(ENVIRONMENT)  ## train the model of `restore_text` and put it into the package: an hour
	.venv/bin/python -c 'from atenta import AtentaEncoderConfig, AtentaEncoderModel, AtentaTokenizer; \
		accents, blocks = "restoration/portuguese_accents", "outputs/speech_trunk"; \
		config = AtentaEncoderConfig.from_pretrained(accents); \
		config.update({"downsampling_layers": 3} | dict.fromkeys( \
			["ngram_sizes", "character_variants", "spellings_file", "window_length", "task_specific_params"])); \
		AtentaEncoderModel.from_pretrained(accents, config=config).save_pretrained(blocks); \
		AtentaTokenizer.from_pretrained(accents).save_pretrained(blocks)'
	ACCELERATE_USE_CPU=true OMP_NUM_THREADS=1 .venv/bin/accelerate launch --config_file recipes/launch/cpus.yaml \
		recipes/finetune_characters.py --config portuguese_speech.yaml --model_name_or_path outputs/speech_trunk \
		--card_title "Portuguese that was dictated"
	mkdir -p restoration/portuguese_speech/onnx
	.venv/bin/python -c 'from atenta.recipes.samples.portuguese_texts import spoken_texts; \
		print(*(row["source"] for row in spoken_texts()["train"]), sep="\n")' > $(SPEECH_MODEL)/train_sources.txt
	.venv/bin/python recipes/export.py $(SPEECH_MODEL) --quantization int8 --texts $(SPEECH_MODEL)/train_sources.txt
	cd $(SPEECH_MODEL) && cp config.json spellings.txt tokenizer.json tokenizer_config.json README.md metrics.json \
		learning_curve.png scores_by_length.png reliability.png $(CURDIR)/restoration/portuguese_speech
	cp $(SPEECH_MODEL)/onnx/model_int8.onnx restoration/portuguese_speech/onnx

phones-model: $(ENVIRONMENT)  ## train the model of `phonemize`, after two that teach it, and put it into the package: two hours and a half
	$(TRAIN_PHONES) --output_dir $(PHONES_TEACHERS)_1
	$(TRAIN_PHONES) --output_dir $(PHONES_TEACHERS)_2 --num_train_epochs 40 --dropout 0.25
	.venv/bin/python recipes/export.py $(PHONES_TEACHERS)_1
	.venv/bin/python recipes/export.py $(PHONES_TEACHERS)_2
	.venv/bin/python -c 'from pathlib import Path; from atenta.recipes.samples.guessed_phones import save_guessed_rows; \
		save_guessed_rows(Path("outputs/guessed_phones.tsv"), [Path("$(PHONES_TEACHERS)_1"), Path("$(PHONES_TEACHERS)_2")])'
	$(TRAIN_PHONES) --output_dir $(PHONES_MODEL) --card_title "Phones of Portuguese" \
		--model_name_or_path $(PHONES_TEACHERS)_2 --further_file outputs/guessed_phones.tsv \
		--num_train_epochs 6 --dropout 0.15 --muon_learning_rate 5e-3 --learning_rate 2e-3
	.venv/bin/python -c 'from pathlib import Path; from atenta.engines.saved_model import read_config; \
		from atenta.recipes.samples.portuguese_phones import portuguese_phones; from atenta.recipes.tasks.letters import LetterTask; \
		print(*map(LetterTask(read_config(Path("$(PHONES_MODEL)"))).mark, portuguese_phones()["train"]), sep="\n")' \
		> $(PHONES_MODEL)/train_sources.txt
	.venv/bin/python recipes/export.py $(PHONES_MODEL) --quantization int8 --texts $(PHONES_MODEL)/train_sources.txt
	.venv/bin/python -c 'from pathlib import Path; from atenta import Phonemizer; \
		from atenta.recipes.samples.known_words import save_known_words; path = Path("$(PHONES_MODEL)"); \
		save_known_words(path, Phonemizer.from_pretrained(path, quantization="int8").tagger)'
	mkdir -p phonemization/portuguese_phones/onnx
	cd $(PHONES_MODEL) && cp config.json tokenizer.json tokenizer_config.json readings.txt README.md metrics.json \
		learning_curve.png scores_by_length.png $(CURDIR)/phonemization/portuguese_phones
	cp $(PHONES_MODEL)/onnx/model_int8.onnx phonemization/portuguese_phones/onnx

page-model: $(ENVIRONMENT)  ## train the encoder-decoder of the site's laboratory and put it into its page
	.venv/bin/python docs/page_data.py pairs outputs/page_pairs
	.venv/bin/python recipes/seq2seq.py --config docs/page_model.yaml --output_dir $(PAGE_MODEL)
	.venv/bin/python docs/page_data.py weights $(PAGE_MODEL)

demo: $(ENVIRONMENT)  ## build the demo, demo/site: a page with the models in the browser; after `make run`
	npm ci --prefix demo --silent
	.venv/bin/python demo/build.py

hub-check: demo  ## use, export, push and show the models of `make run` and of the package: a few minutes
	PYTHONPATH=tests .venv/bin/python tests/support/hub_check.py

recipes: $(ENVIRONMENT)  ## run the recipes on their sample data, but the two longest: about an hour on two cores
	for recipe in $(RECIPES); do .venv/bin/python recipes/$$recipe.py || exit; done
	.venv/bin/python recipes/fit_pair_votes.py --overwrite_output_dir
	.venv/bin/python recipes/train_embeddings.py
	.venv/bin/python recipes/search.py

results: $(ENVIRONMENT)  ## run the rows of results/ of less than five minutes, and write their table
	.venv/bin/python -m results run

# `ATENTA_DATA=folder make results-full` runs also the rows whose data are not shipped.
results-full: $(ENVIRONMENT)  ## run all rows of results/: hours; it goes on where it was stopped
	.venv/bin/python -m results run --full

pretrain-finetune: $(ENVIRONMENT)  ## pre-train a decoder, then train on dialogue from scratch and from that decoder
	.venv/bin/python recipes/pretrain_causal.py --output_dir $(DECODERS)/pretrain_causal $(OPTIONS)
	.venv/bin/python recipes/finetune_generation.py --output_dir $(DECODERS)/dialogue_from_scratch \
		--model_name_or_path null $(OPTIONS)
	.venv/bin/python recipes/finetune_generation.py --output_dir $(DECODERS)/dialogue_pretrained \
		--model_name_or_path $(DECODERS)/pretrain_causal $(OPTIONS)
	.venv/bin/python recipes/show.py comparison $(DECODERS)/dialogue_from_scratch $(DECODERS)/dialogue_pretrained

bench: $(ENVIRONMENT)  ## measure speed against peers and the machine's limit: twelve minutes
	.venv/bin/python -m benchmarks

test: $(ENVIRONMENT)  ## run all tests but the slow ones
	.venv/bin/python $(PYTEST) -m "not slow"

test-slow: $(ENVIRONMENT)  ## run the slow tests
	RUN_SLOW=1 .venv/bin/python $(PYTEST) -m slow

# `make fuzz FUZZ="--fuzz-seed 7"` repeats a run.
fuzz: $(ENVIRONMENT)  ## damage data, options, checkpoints and models in 5,000 ways: each must be right or a clear error
	.venv/bin/python $(PYTEST) tests/fuzz $(FUZZ)

kill-test: $(ENVIRONMENT)  ## kill a training 50 times at random moments: it must end as if it never had been
	KILLS=50 .venv/bin/python -m pytest --capture no --timeout 0 -k random_moments tests/recipes/training/test_resuming.py

test-oldest: $(OLDEST_ENVIRONMENT)  ## run all tests but the slow ones with the oldest dependencies allowed
	.venv-oldest/bin/python $(PYTEST) -m "not slow"

# Everything is built again each time: Sphinx does not notice that the code a page runs has changed.
docs: $(ENVIRONMENT)  ## run the course's notebooks and build the site, docs/_build/html/index.html: some minutes
	.venv/bin/sphinx-build --fail-on-warning --keep-going --fresh-env --jobs $(WORKERS) docs docs/_build/html

lint: $(ENVIRONMENT)  ## check style, formatting, the layers of imports, and types
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/lint-imports
	.venv/bin/mypy

format: $(ENVIRONMENT)  ## fix style and formatting
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

suites: $(ENVIRONMENT)  ## fetch Hugging Face's own test files for the installed transformers
	.venv/bin/python tests/support/fetch_hf_suites.py

clean:  ## remove environments, caches and builds; trained models stay
	rm -rf .venv .venv-oldest .cache .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	rm -rf build dist src/*.egg-info docs/_build demo/site demo/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# constraints.txt names no build of torch: pip takes the best it can reach, on Linux the one for CUDA.
$(ENVIRONMENT): pyproject.toml constraints.txt
	@echo "Making the environment in .venv: some minutes the first time."
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --constraint constraints.txt --editable ".[dev]"
	.venv/bin/python tests/support/fetch_hf_suites.py
	touch $@

# Each direct dependency at its lower bound.
$(OLDEST_ENVIRONMENT): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-oldest
	sed -n 's/^ *"\([a-z0-9_-]*\)>=\([0-9.]*\).*/\1==\2/p' pyproject.toml > .venv-oldest/constraints.txt
	.venv-oldest/bin/pip install --quiet --constraint .venv-oldest/constraints.txt --editable ".[dev]"
	.venv-oldest/bin/python tests/support/fetch_hf_suites.py
	touch $@
