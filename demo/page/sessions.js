// Sessions of onnxruntime-web, in one thread: others would need headers that not every static host sends. Its file has
// all operators of the CPU and needs WebAssembly's SIMD, which browsers have had since 2023.

import * as ort from "./onnxruntime/ort.wasm.bundle.min.mjs";

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = { wasm: new URL("onnxruntime/ort-wasm-simd-threaded.wasm", import.meta.url).href };
ort.env.logLevel = "error";

/** Return the answer of the page's own server for a file, as a Response; an Error that names the file otherwise. */
export async function fetchFile(path) {
  const answer = await fetch(new URL(path, import.meta.url));
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${answer.statusText}`);
  return answer;
}

let last = Promise.resolve(); // what the runtime does, one thing at a time, whoever asks for it
const inTurn = (act) => (last = last.catch(() => {}).then(act));

const QUIET = { logSeverityLevel: 3 }; // errors only: TensorScatter warns of each copy of a cache

/** Return a function that runs an ONNX file of the page: a map of tensors to a map of tensors. */
export async function openSession(path) {
  const bytes = new Uint8Array(await (await fetchFile(path)).arrayBuffer());
  const session = await inTurn(() => ort.InferenceSession.create(bytes, QUIET));
  return (feeds) => inTurn(() => session.run(feeds, QUIET));
}

/** Return integers as an int64 tensor. */
export const integers = (values, ...shape) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), shape);

/** Return a float32 tensor. */
export const floats = (values, ...shape) => new ort.Tensor("float32", values, shape);

/** Return a function that runs the ONNX file of a tagger: plain arrays of so many rows, by name, to logits. */
export async function openTagger(path) {
  const tag = await openSession(path);
  return async (inputs, rows) => {
    const feeds = Object.entries(inputs).map(([name, values]) => [name, integers(values, rows, values.length / rows)]);
    return (await tag(Object.fromEntries(feeds))).logits.data;
  };
}
