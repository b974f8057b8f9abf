/**
 * Tries the packed package as a user gets it: `node tests/package/run.mjs [TARBALL] [HOST…]`. Without a tarball it
 * packs what `cargo xtask build` left in `pkg/`.
 *
 * Each folder beside this file is a host: its `package.json` and lock name the host's own tools, its `host.mjs`
 * tries the package there. The folder is copied to where nothing resolves into the repository, the tools are
 * installed from the lock and the tarball on top; both steps are skipped while lock and tarball stay the same.
 *
 * One line a host, and at last `N passed, N failed`.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
const work = process.env.BURROW_PACKAGE_TESTS ?? join(here, "../../target/package-tests");
/** Generous: a slow machine is no failure, something that hangs is. */
const HOST_TIMEOUT = 600_000;

const exec = promisify(execFile);

/** Runs a command in the host's folder; its output is part of the error. */
async function command(dir, file, args, options = {}) {
  try {
    const { stdout } = await exec(file, args, { cwd: dir, maxBuffer: 1 << 26, timeout: HOST_TIMEOUT, ...options });
    return stdout;
  } catch (error) {
    throw new Error(
      `${basename(file)} ${args.join(" ")}\n${error.stdout ?? ""}${error.stderr ?? ""}${error.code ?? error.signal}`,
    );
  }
}

const digest = async (...files) => {
  const hash = createHash("sha256");
  for (const file of files) hash.update(await readFile(file).catch(() => ""));
  return hash.digest("hex");
};

const npm = (dir, ...args) =>
  command(dir, process.platform === "win32" ? "npm.cmd" : "npm", [
    ...args,
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
  ]);

/** Runs a step unless its stamp says that it was done with the same input. */
async function once(stamp, input, step) {
  if ((await readFile(stamp, "utf8").catch(() => "")) === input) return;
  await rm(stamp, { force: true });
  await step();
  await writeFile(stamp, input);
}

async function install(host, tarball) {
  const dir = join(work, host);
  await mkdir(dir, { recursive: true });
  await cp(join(here, host), dir, { recursive: true });
  for (const shared of ["scenario.mjs", "page.mjs"]) await cp(join(here, shared), join(dir, shared));
  const tools = await digest(join(dir, "package.json"), join(dir, "package-lock.json"));
  await once(join(dir, ".tools"), tools, async () => {
    await rm(join(dir, ".tarball"), { force: true });
    await npm(dir, "ci", "--prefer-offline");
  });
  await once(join(dir, ".tarball"), await digest(tarball), () =>
    npm(dir, "install", "--no-save", "--no-package-lock", "--prefer-offline", tarball),
  );
  return dir;
}

/** Where `cargo xtask models` keeps the real files. */
function models() {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  return process.env.BURROW_MODELS ?? join(cache, "burrow", "models");
}

async function attempt(host, tarball) {
  const dir = await install(host, tarball);
  const { default: run, timeout = HOST_TIMEOUT } = await import(pathToFileURL(join(here, host, "host.mjs")).href);
  const tools = {
    dir,
    models: models(),
    run: (file, args, options) => command(dir, file, args, options),
    bin: (name, args, options) => command(dir, join(dir, "node_modules", ".bin", name), args, options),
    load: async (name) => import(pathToFileURL(join(dir, "node_modules", name)).href),
  };
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${timeout / 1000} s`)), timeout);
  });
  return Promise.race([run(tools), late]).finally(() => clearTimeout(timer));
}

/** The package as `npm publish` would send it. */
async function pack() {
  await mkdir(work, { recursive: true });
  const output = await npm(join(here, "../../pkg"), "pack", "--json", "--pack-destination", work);
  return join(work, JSON.parse(output)[0].filename);
}

const given = process.argv.slice(2);
const tarball = given[0]?.endsWith(".tgz") ? resolve(given.shift()) : await pack();
const folders = (await readdir(here, { withFileTypes: true })).filter((entry) => entry.isDirectory());
const hosts = folders.map((entry) => entry.name).filter((name) => given.length === 0 || given.includes(name));
let failed = 0;
for (const host of hosts) {
  const start = performance.now();
  const seconds = () => `${((performance.now() - start) / 1000).toFixed(1)} s`;
  try {
    const note = await attempt(host, tarball);
    console.log(`ok   ${host.padEnd(15)} ${seconds().padStart(7)}  ${note ?? ""}`);
  } catch (error) {
    failed += 1;
    console.log(
      `FAIL ${host.padEnd(15)} ${seconds().padStart(7)}\n${String(error.stack ?? error).replaceAll(/^/gm, "       ")}`,
    );
  }
}
console.log(`${hosts.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
