// Chromium as a host: an engine is a worker of this page.
import { quality } from "../../quality/quality.mjs";
import { caller } from "../calls.mjs";
import { runMatrix } from "../matrix.mjs";
import { peak } from "../peak.mjs";

const at = (path) => new URL(path, location.origin).href;
const ORT = "/node_modules/onnxruntime-web/dist/";
const TRANSFORMERS = "/node_modules/@huggingface/transformers/";

const host = {
  name: navigator.userAgent.match(/Chrome\/\d+/)[0].replace("Chrome/", "Chromium "),
  builds: (await peak(true)) === undefined ? ["simd128"] : ["relaxed", "simd128"],
  code: {
    burrow: at("/pkg/wasm/burrow.js"),
    simd128: at("/pkg/wasm/burrow_bg.wasm"),
    relaxed: at("/pkg/wasm/burrow_relaxed_bg.wasm"),
    installer: at("/pkg/wasm/installer.js"),
    installerWasm: at("/pkg/wasm/installer_bg.wasm"),
    ort: at(`${ORT}ort.wasm.min.mjs`),
    ortFolder: at(ORT),
    transformers: at(`${TRANSFORMERS}dist/transformers.min.js`),
    transformersWasm: {
      mjs: at(`${TRANSFORMERS}node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.mjs`),
      wasm: at(`${TRANSFORMERS}node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.wasm`),
    },
  },
  models: at("/models"),
  hub: at("/hub/"),
  start,
};

async function start() {
  const worker = new Worker(new URL("../contenders/host.mjs", import.meta.url), { type: "module" });
  const { call, fail } = caller(
    (message) => worker.postMessage(message),
    (answer) => {
      worker.onmessage = ({ data }) => answer(data);
    },
  );
  worker.onerror = (event) => fail(new Error(`a worker failed: ${event.message}`));
  return { call, stop: () => worker.terminate() };
}

const tell = (result) => console.info(`result ${JSON.stringify(result)}`);
const CALLS = { matrix: runMatrix, quality };

globalThis.bench = ({ call, plan }) => CALLS[call](host, plan, tell);
