/** workerd, which compiles no WebAssembly at run time: the package's `workerd` entry imports its wasm files as modules. */
import { startWorker } from "./bundle.mjs";

export default async function workerd(tools) {
  const worker = await startWorker(tools);
  try {
    const response = await worker.dispatchFetch("http://worker/");
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return `workerd, ${JSON.parse(text).wasm}`;
  } finally {
    await worker.dispose();
  }
}
