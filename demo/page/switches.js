// The switches of the first tab: what is restored, one of which is always on, and in the spelling of which country.

const inputs = [...document.querySelectorAll("#switches input")], select = document.getElementById("variant");

/** Return what is switched on: some of RESTORED. */
export const switchedOn = () => inputs.filter(({ checked }) => checked).map(({ value }) => value);

/** Return whether nothing but accents is restored. */
export const accentsAlone = () => String(switchedOn()) === "accents";

/** Return the variant of Portuguese whose accents are written: "br", "pt", or "" for that of each word. */
export const variant = () => (switchedOn().includes("accents") ? select.value : "");

/** Call a function when a switch is turned. */
export function onSwitch(listener) {
  for (const input of [...inputs, select]) input.addEventListener("change", listener);
}

/** Hold the last switch that is on: nothing would be restored without it. */
function holdLast() {
  const isLast = switchedOn().length === 1;
  for (const input of inputs) input.disabled = isLast && input.checked;
  select.disabled = !switchedOn().includes("accents");
}

select.value = /^pt(-BR)?$/.test(navigator.language) ? "br" : /^pt\b/.test(navigator.language) ? "pt" : "";
onSwitch(holdLast);
holdLast();
