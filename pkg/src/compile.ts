/**
 * WebAssembly from whatever it comes in. Works the same in the page and in its workers, and knows no address of its
 * own: those are in `wasm.ts`, out of the workers' reach, so that bundlers find each address once.
 */
import { BurrowError, describe, toBurrowError } from "./errors.js";
import type { Stats, WasmSource } from "./types.js";

/** A host that has its own way to the modules. */
export interface Platform {
  /** Modules that were imported statically. */
  burrow?: { module: WebAssembly.Module; build: Stats["build"]["wasm"] };
  /** Reads a file URL. */
  readFile?: (url: URL) => Promise<Uint8Array<ArrayBuffer>>;
  /** Why models cannot be installed from ONNX files here. */
  noInstaller?: string;
}

let host: Platform = {};

/** Called by the entry of a host, before anything is opened. */
export function setPlatform(given: Platform): void {
  host = given;
}

/** The host that this runs on. */
export function platform(): Platform {
  return host;
}

const MAGIC = 0x6d736100;

/** Compiles bytes, if they are WebAssembly. */
export function compile(bytes: BufferSource): Promise<WebAssembly.Module> {
  if (!ArrayBuffer.isView(bytes) && Object.prototype.toString.call(bytes) !== "[object ArrayBuffer]") {
    throw new BurrowError("internal", "That is neither a URL, a Response, a WebAssembly.Module, nor bytes");
  }
  const view = ArrayBuffer.isView(bytes)
    ? new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new DataView(bytes as ArrayBuffer);
  if (view.byteLength < 8 || view.getUint32(0, true) !== MAGIC) {
    throw new BurrowError("internal", "That is not WebAssembly (a page or an error text came in its place?)");
  }
  return WebAssembly.compile(bytes);
}

async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) throw new BurrowError("internal", `${response.url} answered ${response.status}`);
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/wasm")) return WebAssembly.compileStreaming(response);
  return compile(await response.arrayBuffer());
}

/** Compiles what an address gives. */
export async function compileUrl(url: URL): Promise<WebAssembly.Module> {
  if (url.protocol === "file:" && host.readFile !== undefined) return compile(await host.readFile(url));
  return compileResponse(await fetch(url));
}

function isModule(source: unknown): boolean {
  return Object.prototype.toString.call(source) === "[object WebAssembly.Module]";
}

/** Compiles whatever the application gave. */
export async function compileSource(source: WasmSource): Promise<WebAssembly.Module> {
  try {
    const given = await source;
    if (isModule(given)) return given as WebAssembly.Module;
    if (typeof given === "string" || given instanceof URL) return await compileUrl(absolute(given));
    if (given instanceof Response) return await compileResponse(given);
    return await compile(given as BufferSource);
  } catch (error) {
    // What the application gave is the application's to mend, whatever was wrong with it.
    throw new BurrowError("invalid_argument", `The given WebAssembly cannot be used: ${describe(error)}`, {
      details: { argument: "wasm" },
      cause: error,
    });
  }
}

/** An address, relative to the page. */
export function absolute(url: string | URL): URL {
  return new URL(url, (globalThis as { location?: { href?: string } }).location?.href);
}

/**
 * Compiles the installer where it is needed. Older bundlers' dev servers move this package's scripts, but not the
 * files beside them, so that the address they leave is tried and then the one that the package was installed at.
 */
export async function compileInstaller(source: WebAssembly.Module | string): Promise<WebAssembly.Module> {
  if (typeof source !== "string") return source;
  try {
    return await compileUrl(new URL(source));
  } catch (error) {
    const installed = source.replace(/\/node_modules\/\.vite\/.*?\/wasm\//, "/node_modules/burrow-memory/dist/wasm/");
    if (installed !== source) return compileUrl(new URL(installed));
    throw toBurrowError(
      error,
      "model_load",
      "The installer's WebAssembly cannot be loaded; give its URL as `wasm.installer`",
    );
  }
}
