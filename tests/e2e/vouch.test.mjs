// The pack that is not what tract runs: the encoder must not be used, and it must be said why.
//
// The wrong pack is a real one, made of the same model with the signs of part of one layer's weights turned, and put in
// the place of the right one between the two steps of an installation. In this process: a page adds nothing to it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const dist = (file) => import(new URL(`../../pkg/dist/${file}`, import.meta.url));
await dist("node.js");
const [{ install }, { LocalInstaller }, { loadModules }, { startCore }] = await Promise.all(
  ["install.js", "installer.js", "wasm.js", "encoder.js"].map(dist),
);

const models =
  process.env.BURROW_MODELS || join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "burrow/models");
const read = async (file) => new Uint8Array(await readFile(join(models, "bge-small-zh-v1.5", file)));
const PRESET = "bge-small-zh-v1.5";
/** Half a megabyte of the last layer's larger matrix, by its place in the published file. */
const TURNED = { from: 22_300_000, to: 22_800_000 };

async function makePack(home, model, tokenizer) {
  const files = { model, tokenizer };
  const source = { pooling: "cls", lowercase: true, files };
  const { pack } = await install(source, { home, spawn: undefined }, () => undefined, undefined, true);
  return pack;
}

test("a pack of other weights is refused, and tract runs the model", async () => {
  const home = await loadModules(undefined);
  await startCore(home.module);
  const [model, tokenizer] = [await read("model_quantized.onnx"), await read("tokenizer.json")];
  const turned = model.slice();
  for (let at = TURNED.from; at < TURNED.to; at++) turned[at] = -turned[at];
  const wrong = await makePack(home, turned, tokenizer);
  assert.ok(wrong !== undefined, "the turned model is a sound one of its own");

  const { pack } = LocalInstaller.prototype;
  LocalInstaller.prototype.pack = async () => wrong;
  try {
    const source = { preset: PRESET, files: { model, tokenizer } };
    const installed = await install(source, { home, spawn: undefined }, () => undefined, undefined, true);
    assert.equal(installed.engine, "tract");
    assert.match(installed.reason, /the encoder does not agree with tract: cosine/);
    assert.equal(installed.vouched, undefined);
    const { vectors } = await installed.installer.service.embed(["用户喜欢吃什么"], "query");
    assert.equal(vectors[0].length, 512);
    installed.installer.stop();
  } finally {
    LocalInstaller.prototype.pack = pack;
  }
});
