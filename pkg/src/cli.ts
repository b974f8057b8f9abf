#!/usr/bin/env node
/**
 * `npx burrow-memory pack`: makes a pack beforehand, by the very code that installs a model in a browser. An
 * application that ships packs loads them without the installer, and downloads a quarter of the f32 file.
 *
 * The bytes depend on the model file, its tokenizer and the settings only, not on where they were found.
 */
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { parseArgs } from "node:util";

import { type Found, find } from "./cli_source.js";
import { startCore } from "./encoder.js";
import { BurrowError, toBurrowError } from "./errors.js";
import { type Installed, install } from "./install.js";
import "./node.js";
import type { ModelSource, Preset, ProgressEvent } from "./types.js";
import { loadModules } from "./wasm.js";

const USAGE = `burrow-memory pack SOURCE [options]

SOURCE is a preset (bge-small-en-v1.5, …), the URL of a model on a hub or of an .onnx file, an .onnx file,
or a folder with model.onnx and tokenizer.json. int8 packs are best made from f32 files.

  -o, --output FILE          where the pack goes; NAME.PRECISION.pack unless given
  --precision int8|f32       int8 unless given
  --preset NAME              settings of this preset; by itself where SOURCE's path holds a preset's name
  --tokenizer FILE|URL       tokenizer.json, where it is not beside the model
  --sha256 HEX               of the model file; another file is refused
  --pooling cls|mean         mean unless a preset says otherwise
  --query-prefix TEXT        put before questions
  --document-prefix TEXT     put before what is to be found
  --lowercase yes|no         whatever the tokenizer file says
  --max-tokens N             longer texts are cut
`;

const OPTIONS = {
  output: { type: "string", short: "o" },
  precision: { type: "string", default: "int8" },
  preset: { type: "string" },
  tokenizer: { type: "string" },
  sha256: { type: "string" },
  pooling: { type: "string" },
  "query-prefix": { type: "string" },
  "document-prefix": { type: "string" },
  lowercase: { type: "string" },
  "max-tokens": { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

type Options = ReturnType<typeof parse>["values"];

function parse(args: string[]) {
  return parseArgs({ args, options: OPTIONS, allowPositionals: true });
}

function oneOf<T extends string>(option: string, value: string, known: readonly T[]): T {
  if ((known as readonly string[]).includes(value)) return value as T;
  throw new BurrowError("invalid_argument", `--${option} is ${known.join(" or ")}, not ${JSON.stringify(value)}`);
}

/** The options as an application would write them; what is absent is left to the preset. */
function settings(options: Options): ModelSource {
  const source: ModelSource = { precision: oneOf("precision", options.precision, ["int8", "f32"]) };
  if (options.preset !== undefined) source.preset = options.preset as Preset;
  if (options.pooling !== undefined) source.pooling = oneOf("pooling", options.pooling, ["cls", "mean"]);
  if (options["query-prefix"] !== undefined) source.queryPrefix = options["query-prefix"];
  if (options["document-prefix"] !== undefined) source.documentPrefix = options["document-prefix"];
  if (options.lowercase !== undefined)
    source.lowercase = oneOf("lowercase", options.lowercase, ["yes", "no"]) === "yes";
  if (options["max-tokens"] !== undefined) source.maxTokens = Number(options["max-tokens"]);
  return source;
}

/** One line that is written over, on a terminal; a line per phase elsewhere. */
function progress(): (event: ProgressEvent) => void {
  const terminal = process.stderr.isTTY === true;
  let shown = "";
  return ({ phase, loaded, total }) => {
    const share = total > 0 ? ` ${Math.floor((100 * loaded) / total)} %` : "";
    const line = terminal ? `${phase}${share}` : phase;
    if (line === shown) return;
    const newPhase = !shown.startsWith(phase);
    process.stderr.write(terminal ? `${newPhase && shown !== "" ? "\n" : "\r"}${line}\x1b[K` : `${line}\n`);
    shown = line;
  };
}

async function make(source: ModelSource, found: Found, onProgress: (event: ProgressEvent) => void): Promise<Installed> {
  const sha256 = createHash("sha256").update(found.model).digest("hex");
  if (source.sha256 !== undefined && source.sha256.toLowerCase() !== sha256) {
    throw new BurrowError("model_load", `${found.name} has sha256 ${sha256} and not ${source.sha256}`);
  }
  const { model, tokenizer } = found;
  const home = await loadModules(undefined);
  const files = { model, tokenizer };
  return install({ ...source, files, sha256 }, { home, spawn: undefined }, onProgress, undefined, true);
}

async function pack([given, ...rest]: string[], options: Options): Promise<void> {
  if (given === undefined || rest.length > 0)
    throw new BurrowError("invalid_argument", `one SOURCE is needed\n\n${USAGE}`);
  const tell = progress();
  const source = settings(options);
  if (options.sha256 !== undefined) source.sha256 = options.sha256;
  await startCore((await loadModules(undefined)).module);
  const found = await find(given, options.tokenizer, tell);
  const preset = source.preset ?? found.preset;
  const installed = await make(preset === undefined ? source : { ...source, preset }, found, tell);
  if (process.stderr.isTTY === true) process.stderr.write("\n");
  if (installed.engine !== "encoder") {
    installed.installer.stop();
    throw new BurrowError("model_load", `no pack can be made of ${found.name}: ${installed.reason}`);
  }
  if (installed.pack === undefined) throw new BurrowError("internal", "the installation let go of its pack");
  const bytes = new Uint8Array(await installed.pack.arrayBuffer());
  const file = options.output ?? `${found.name}.${source.precision}.pack`;
  await writeFile(file, bytes);
  report(file, bytes, installed, preset);
}

function report(
  file: string,
  pack: Uint8Array,
  installed: Installed & { engine: "encoder" },
  preset: string | undefined,
): void {
  const { info, vouched } = installed;
  const hash = createHash("sha256").update(pack).digest("hex");
  console.log(
    `${basename(file)}: ${(pack.length / 1e6).toFixed(1)} MB, ${info.precision}, ${info.dims} dimensions, sha256 ${hash}`,
  );
  console.log(
    `settings: ${preset === undefined ? "as given" : `of the preset ${preset}`}; fingerprint ${info.fingerprint}`,
  );
  if (vouched !== undefined)
    console.log(`agrees with tract on ${vouched.probes} probe texts, least cosine ${vouched.cosine.toFixed(5)}`);
}

async function main(): Promise<void> {
  const [command, ...rest] = process.argv.slice(2);
  const { values, positionals } = parse(rest);
  if (command === undefined || command === "--help" || command === "-h" || values.help === true)
    return void console.log(USAGE);
  if (command !== "pack")
    throw new BurrowError("invalid_argument", `there is no command ${JSON.stringify(command)}\n\n${USAGE}`);
  await pack(positionals, values);
}

main().catch((error: unknown) => {
  const { code, message } = toBurrowError(error, "invalid_argument");
  console.error(`error: ${message} (${code})`);
  process.exitCode = 1;
});
