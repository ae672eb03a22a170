// The switches of the first tab: what is restored. One of them is always on.

const inputs = [...document.querySelectorAll("#switches input")];

/** Return what is switched on: some of RESTORED. */
export const switchedOn = () => inputs.filter(({ checked }) => checked).map(({ value }) => value);

/** Return whether nothing but accents is restored. */
export const accentsAlone = () => String(switchedOn()) === "accents";

/** Call a function when a switch is turned. */
export function onSwitch(listener) {
  for (const input of inputs) input.addEventListener("change", listener);
}

/** Hold the last switch that is on: nothing would be restored without it. */
function holdLast() {
  const isLast = switchedOn().length === 1;
  for (const input of inputs) input.disabled = isLast && input.checked;
}

onSwitch(holdLast);
holdLast();
