/**
 * Where WebAssembly comes from. Used by the application's side only: workers get a compiled module.
 *
 * | host            | source                                                                          |
 * |-----------------|---------------------------------------------------------------------------------|
 * | any             | the `wasm` option: URL, response, module or bytes                               |
 * | workerd         | a static import (`workerd.ts`): compiling from bytes is refused there           |
 * | Node, Deno, Bun | a file beside this one (`node.ts`): `fetch` refuses file URLs                   |
 * | browsers        | `new URL(…, import.meta.url)`, which bundlers follow                            |
 * | … when that URL gives no wasm (dependency pre-bundling, single-page servers) | an inlined copy, a chunk of its own |
 *
 * The relaxed-simd build is chosen where it validates. The answer's content is checked, not its status or MIME type:
 * a single-page app answers 200 with HTML for a file that is not there.
 */
import { absolute, compile, compileSource, compileUrl, platform } from "./compile.js";
import { startCore } from "./encoder.js";
import { BurrowError, describe, toBurrowError } from "./errors.js";
import type { HomeConfig } from "./service.js";
import type { OpenOptions, WasmOptions, WasmSource } from "./types.js";
import { Store } from "./wasm/burrow.js";

/** (module (func (result v128) (i32x4.relaxed_trunc_f32x4_s (v128.const 0)))) */
const RELAXED_PROBE = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 25, 1, 23, 0, 253, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 253, 129, 2, 11,
]);

/** The faster build that this engine can run. */
export function bestBuild(): "relaxed-simd" | "simd128" {
  return WebAssembly.validate(RELAXED_PROBE) ? "relaxed-simd" : "simd128";
}

let standard: Promise<WebAssembly.Module> | undefined;

/** The small module of this package, compiled once per thread. */
function standardModule(): Promise<WebAssembly.Module> {
  standard ??= compileStandard().catch((error: unknown) => {
    standard = undefined;
    throw error;
  });
  return standard;
}

async function compileStandard(): Promise<WebAssembly.Module> {
  const relaxed = bestBuild() === "relaxed-simd";
  const url = relaxed
    ? new URL("./wasm/burrow_relaxed_bg.wasm", import.meta.url)
    : new URL("./wasm/burrow_bg.wasm", import.meta.url);
  try {
    return await compileUrl(url);
  } catch (error) {
    return compileInlined(relaxed, url, error);
  }
}

async function compileInlined(relaxed: boolean, url: URL, failure: unknown): Promise<WebAssembly.Module> {
  try {
    const { base64 } = relaxed ? await import("./inline/burrow_relaxed.js") : await import("./inline/burrow.js");
    return await compile(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));
  } catch (error) {
    throw new BurrowError(
      "internal",
      `No WebAssembly at ${url.href} (${describe(failure)}); give its URL as the option \`wasm\``,
      {
        details: { url: url.href },
        cause: error,
      },
    );
  }
}

function isOptions(wasm: WasmSource | WasmOptions): wasm is WasmOptions {
  return typeof wasm === "object" && Object.getPrototypeOf(wasm) === Object.prototype;
}

/** Everything a home needs to start. */
export async function loadModules(wasm: OpenOptions["wasm"]): Promise<HomeConfig> {
  const given: WasmOptions = wasm === undefined ? {} : isOptions(wasm) ? wasm : { burrow: wasm };
  const small = await smallModule(given.burrow);
  if (given.installer !== undefined) return { ...small, installer: await installerSource(given.installer) };
  const { noInstaller } = platform();
  if (noInstaller !== undefined) return { ...small, noInstaller };
  return { ...small, installer: await standardInstaller() };
}

async function smallModule(given: WasmSource | undefined): Promise<Pick<HomeConfig, "module" | "build">> {
  if (given !== undefined) return { module: await compileSource(given), build: "custom" };
  const { burrow } = platform();
  if (burrow !== undefined) return burrow;
  return { module: await standardModule(), build: bestBuild() };
}

/** The installer is large and seldom needed: only its address is kept, where it has one. */
async function installerSource(given: WasmSource): Promise<WebAssembly.Module | string> {
  if (typeof given !== "string" && !(given instanceof URL)) return compileSource(given);
  try {
    return absolute(given).href;
  } catch (error) {
    const message = `wasm.installer is no URL: ${String(given)}`;
    throw new BurrowError("invalid_argument", message, { details: { argument: "installer" }, cause: error });
  }
}

async function standardInstaller(): Promise<string> {
  return new URL("./wasm/installer_bg.wasm", import.meta.url).href;
}

/** Deletes a database, without opening it. */
export async function loadDestroy(name: string, wasm: OpenOptions["wasm"]): Promise<void> {
  const { module } = await loadModules(wasm);
  await startCore(module);
  await Store.destroy(name).catch((error: unknown) => {
    throw toBurrowError(error);
  });
}
