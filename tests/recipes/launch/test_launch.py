"""Configurations for accelerate: their keys, the settings they lead to, and the processes that start on CPUs."""

import os
from pathlib import Path

import pytest
import yaml
from accelerate.commands import launch
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

from atenta.modeling.block import TransformerBlock
from support.models import LANGUAGE_MODELS, named, tiny_model
from support.ranks import run_module

FOLDER = Path(__file__).parents[3] / "recipes" / "launch"
FILES = sorted(FOLDER.glob("*.yaml"))
LAUNCHERS = ("simple_launcher", "multi_gpu_launcher", "deepspeed_launcher")
WHO_I_AM = """
from accelerate import Accelerator
from accelerate.utils import gather_object

accelerator = Accelerator()
ranks = gather_object([accelerator.process_index])
accelerator.print(accelerator.distributed_type.value, accelerator.device.type, accelerator.num_processes, ranks)
accelerator.end_training()
"""


@pytest.fixture
def launched(monkeypatch):
    """Return the launcher that `accelerate launch` chooses for a file, and all options. Nothing is started."""
    for name in list(os.environ):
        if name.startswith(("ACCELERATE_", "FSDP_", "OMP_")):
            monkeypatch.delenv(name)
    started = []
    for launcher in LAUNCHERS:
        monkeypatch.setattr(launch, launcher, lambda options, launcher=launcher: started.append((launcher, options)))

    def start(name):
        launch.launch_command(
            launch.launch_command_parser().parse_args(["--config_file", str(FOLDER / f"{name}.yaml"), "script.py"])
        )
        return started.pop()

    return start


@pytest.fixture
def who_i_am(tmp_path):
    """A script that prints once per machine how its processes are connected."""
    script = tmp_path / "who_i_am.py"
    script.write_text(WHO_I_AM, encoding="utf-8")
    return script


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_accelerate_knows_every_key(file):
    load_config_from_file(str(file))  # raises an error for an unknown key of the first level; the others are options
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    options = {action.dest for action in launch.launch_command_parser()._actions}
    below = [key for section in content.values() if isinstance(section, dict) for key in section]
    assert set(below) <= options


@pytest.mark.parametrize(
    ("name", "launcher", "processes", "precision"),
    [
        ("cpu", "simple_launcher", 1, "no"),
        ("cpus", "multi_gpu_launcher", 2, "no"),
        ("gpu", "simple_launcher", 1, "bf16"),
        ("gpus", "multi_gpu_launcher", 2, "bf16"),
        ("machines", "multi_gpu_launcher", 8, "bf16"),
        ("fsdp2", "multi_gpu_launcher", 2, "bf16"),
        ("deepspeed_zero2", "deepspeed_launcher", 2, "no"),
        ("deepspeed_zero3", "deepspeed_launcher", 2, "no"),
    ],
)
def test_the_launcher_of_each_file(launched, name, launcher, processes, precision):
    taken, options = launched(name)
    assert (taken, options.num_processes, options.mixed_precision) == (launcher, processes, precision)
    assert options.use_cpu == (name in {"cpu", "cpus"})


@pytest.mark.parametrize("model_class", named(LANGUAGE_MODELS))
def test_fsdp2_splits_by_block_and_saves_all_weights(launched, monkeypatch, model_class):
    for name, value in prepare_multi_gpu_env(launched("fsdp2")[1]).items():
        monkeypatch.setenv(name, value)
    plugin = FullyShardedDataParallelPlugin()
    model = tiny_model(model_class)
    plugin.set_auto_wrap_policy(model)
    assert plugin.fsdp_version == 2
    assert plugin.auto_wrap_policy.keywords["transformer_layer_cls"] == {TransformerBlock}
    assert plugin.reshard_after_forward is True
    assert plugin.cpu_ram_efficient_loading is False
    assert plugin.state_dict_type.name == "FULL_STATE_DICT"


@pytest.mark.parametrize("stage", [2, 3])
def test_deepspeed_takes_options_from_the_recipe(launched, monkeypatch, stage):
    for name, value in prepare_deepspeed_cmd_env(launched(f"deepspeed_zero{stage}")[1])[1].items():
        monkeypatch.setenv(name, value)
    plugin = DeepSpeedPlugin()
    assert plugin.zero_stage == stage
    assert plugin.zero3_init_flag == (stage == 3)
    settings = plugin.deepspeed_config
    assert settings["gradient_accumulation_steps"] == settings["gradient_clipping"] == "auto"
    assert settings["zero_optimization"]["stage3_gather_16bit_weights_on_model_save"] == (stage == 3)
    assert "bf16" not in settings
    assert "fp16" not in settings


@pytest.mark.slow
def test_cpus_starts_two_connected_processes(who_i_am):
    output = run_module(
        *("accelerate.commands.launch", "--config_file", FOLDER / "cpus.yaml", who_i_am),
        environment={"ACCELERATE_USE_CPU": "true"},
    )
    assert output.splitlines() == ["MULTI_CPU cpu 2 [0, 1]"]
