"""The cost of a training: minutes, energy and CO₂, measured by codecarbon on this machine, without network."""

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from transformers import TrainerCallback, TrainerState
from transformers.trainer_callback import ExportableState

_INSTALL = 'pip install "atenta[energy]"'
_SECONDS = 15  # between two measurements; codecarbon asks for the load of the processor every second
_SUMS = ("minutes", "kilowatt_hours", "co2_grams")


class CostMeter:
    """Measures the time and the energy from `start` to `stop`, and goes on where an earlier one has stopped.

    The energy is that of the machine: of the processor from its counters (RAPL), or from its load where it shows none,
    as in most containers and virtual machines; of the memory from its size; of GPUs from their driver. Without
    codecarbon, or on a machine that it cannot measure, a line says so and only the time is stated.

    Attributes:
        country_iso_code: ISO 3166-1 alpha-3 code of the country whose electricity is used, such as `BRA`; without it
            no CO₂ is stated.
        minutes: Minutes so far.
        kilowatt_hours: Energy so far; None if it is not known for all of the time.
        co2_grams: CO₂ so far, in grams of CO₂ equivalents; None without a country.
        found: How it was found: `tracker`, `processor`, `gpu`, `country`, and whether energy was `counted`.
    """

    def __init__(self, country_iso_code: str | None = None):
        self.country_iso_code = country_iso_code
        self.minutes = 0.0
        self.kilowatt_hours: float | None = 0.0
        self.co2_grams: float | None = 0.0 if country_iso_code else None
        self.found: dict[str, Any] = {}
        self._tracker: Any = None
        self._started: float | None = None

    def start(self) -> None:
        """Begin to measure. An error of the library does not stop a training."""
        self._started = time.perf_counter()
        try:
            from codecarbon import OfflineEmissionsTracker

            logging.getLogger("codecarbon").setLevel(logging.CRITICAL)  # it logs each step of its start
            self._tracker = OfflineEmissionsTracker(
                country_iso_code=self.country_iso_code,
                measure_power_secs=_SECONDS,
                output_methods=[],
                emissions_endpoint=None,
                electricitymaps_api_token=None,
                allow_multiple_runs=True,
                log_level="critical",
            )
            self._tracker.start()
        except Exception as error:  # whatever it meets in a machine that it does not know
            reason = _INSTALL if isinstance(error, ModuleNotFoundError) else " ".join(str(error).split())
            print(f"The energy of this training is not measured: {reason}", flush=True)
            self._tracker, self.kilowatt_hours, self.co2_grams = None, None, None

    def stop(self) -> None:
        """Add what has been used since `start`; without a `start` nothing happens."""
        self.minutes, self.kilowatt_hours, self.co2_grams = self._sums(stop=True).values()
        self._started = self._tracker = None

    def facts(self) -> dict[str, Any]:
        """Return what is known so far, for a model card."""
        return {name: value for name, value in {**self._sums(stop=False), **self.found}.items() if value}

    def _sums(self, stop: bool) -> dict[str, Any]:
        """Return the sums of before and of now."""
        sums = {name: getattr(self, name) for name in _SUMS}
        if self._started is None:
            return sums
        sums["minutes"] += (time.perf_counter() - self._started) / 60
        if self._tracker is None:
            return sums
        try:
            if stop:
                self._tracker.stop()
                data = self._tracker.final_emissions_data
            else:
                self._tracker.flush()
                data = self._tracker._prepare_emissions_data()
            modes = ""
            with suppress(Exception):  # the library has it nowhere else
                modes = " ".join(map(repr, self._tracker._hardware))
            self.found = {
                "tracker": f"codecarbon {version('codecarbon')}",
                "processor": " ".join((data.cpu_model or "").split()),
                "gpu": data.gpu_model or "",
                "country": data.country_name if self.country_iso_code else None,
                "counted": "Rapl" in modes or "Power Gadget" in modes or "Emi" in modes,
            }
        except Exception:
            return {**sums, "kilowatt_hours": None, "co2_grams": None}
        for name, now in (("kilowatt_hours", data.energy_consumed), ("co2_grams", 1000 * data.emissions)):
            if sums[name] is not None:
                sums[name] += now
        return sums


class TrainingCost(CostMeter, TrainerCallback, ExportableState):
    """A `CostMeter` of a Trainer's training. Checkpoints keep its sums, so that a resumed run states all of it."""

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Begin to measure, in the main process."""
        if state.is_world_process_zero:
            self.start()

    def on_train_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Stop measuring."""
        self.stop()

    def state(self) -> dict[str, Any]:
        """Return the sums so far, as a checkpoint keeps them."""
        sums = {**self._sums(stop=False), "found": self.found}
        return {"args": {"country_iso_code": self.country_iso_code}, "attributes": sums}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set the sums to those of a checkpoint's `state`."""
        for name, value in state.get("attributes", {}).items():
            setattr(self, name, value)


def check_country(code: str | None) -> None:
    """Check the code of a country.

    Raises:
        ValueError: If codecarbon is not installed, or knows no electricity of such a country.
    """
    if code is None:
        return
    try:
        from codecarbon.input import DataSource
    except ModuleNotFoundError:
        raise ValueError(f"--country_iso_code {code}: CO2 is computed by codecarbon: {_INSTALL}") from None

    known = DataSource().get_global_energy_mix_data()
    if code not in known:
        raise ValueError(
            f"--country_iso_code {code}: expected the ISO 3166-1 code of a country in three capital letters, such as "
            f"BRA or PRT (codecarbon has {len(known)} countries)."
        )
