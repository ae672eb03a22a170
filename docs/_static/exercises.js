// A box below each exercise that has a check: the page compares the digest of what is written there, as
// recipes/course.py does. After atenta.js. Nothing is sent anywhere.
"use strict";

const EXERCISE = /answer = \.\.\.[^]*check\(answer, "([0-9a-f]{8})"\)/;

/** Return a number as recipes/course.py writes it: whole ones exactly, others to three significant digits. */
function normalNumber(value) {
  if (Number.isInteger(value)) return String(value);
  const exact = value.toExponential(60); // Python rounds what is in the middle to the even digit
  if (/^-?\d\.\d[02468]50+e/.test(exact)) return normalNumber(Number(exact.replace(/(\.\d\d)5/, "$1")));
  const [mantissa, exponent] = value.toExponential(2).split("e").map(Number);
  if (exponent >= -4 && exponent < 3) return String(Number(value.toPrecision(3)));
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** Return what a piece of text may mean, in normal form: text, a number with a comma or a point, a fraction, a share. */
function normalForms(piece) {
  const text = piece.trim().replace(/^(["'])(.*)\1$/, "$2").trim().replace("−", "-");
  const numbers = [text, text.replaceAll(".", "").replace(",", "."), text.replaceAll(",", "")]
    .filter((each) => /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(each))
    .map((each) => normalNumber(Number(each)));
  const fraction = /^([-+]?\d+) ?\/ ?([1-9]\d*)$/.exec(text), share = /^([-+]?\d+(?:[.,]\d+)?) ?%$/.exec(text);
  if (fraction) numbers.push(normalNumber(fraction[1] / fraction[2]));
  if (share) numbers.push(normalNumber(Number(share[1].replace(",", ".")) / 100));
  return [...new Set([...numbers, text.normalize("NFC").toLowerCase()])];
}

/** Return all normal forms of an answer: of a text or a number, and of lists with "; ", ", ", "," or spaces between. */
function answerForms(answer) {
  const inside = answer.trim().replace(/^[[(](.*)[\])]$/s, "$1");
  const lists = [/\s*;\s*/, /,\s+/, /,/, /\s+/].map((between) => inside.split(between)).filter((parts) => parts.length > 1);
  const combined = lists.flatMap((parts) =>
    parts.map(normalForms).reduce((lines, forms) => lines.flatMap((line) => forms.map((form) => [...line, form])).slice(0, 64), [[]]));
  return [...normalForms(answer), ...combined.map((parts) => `[${parts.join(", ")}]`)];
}

/** Return the digest of a normal form: see `answer_digest` in recipes/course.py. */
async function answerDigest(form) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(form)));
  return Array.from(bytes.slice(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function addAnswerBox(pre, digest) {
  const words = isPortuguese
    ? { answer: "Sua resposta", check: "Conferir", right: "✓ Certo.", wrong: "✗ Ainda não: tente de novo.", list: "listas: 1; 2" }
    : { answer: "Your answer", check: "Check", right: "✓ Right.", wrong: "✗ Not yet: try again.", list: "lists: 1; 2" };
  const form = document.createElement("form"), label = document.createElement("label"), input = document.createElement("input");
  const button = document.createElement("button"), said = document.createElement("output");
  form.className = "answer";
  label.textContent = `${words.answer} `;
  Object.assign(input, { type: "text", autocomplete: "off", placeholder: words.list });
  input.setAttribute("autocapitalize", "off");
  button.textContent = words.check;
  label.append(input);
  form.append(label, button, said);
  input.addEventListener("input", () => { said.textContent = ""; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!input.value.trim()) return;
    const digests = await Promise.all(answerForms(input.value).map(answerDigest));
    said.textContent = digests.includes(digest) ? words.right : words.wrong;
    said.className = digests.includes(digest) ? "right" : "wrong";
  });
  const cell = pre.closest(".cell");
  cell.querySelector(".cell_output")?.remove(); // it says that there is no answer yet
  cell.after(form);
}

// Where there is no digest, on an address without encryption, the cells stay as they are.
if (globalThis.crypto?.subtle) {
  document.querySelectorAll("article .cell_input pre").forEach((pre) => {
    const found = EXERCISE.exec(pre.textContent);
    if (found) addAnswerBox(pre, found[1]);
  });
}
