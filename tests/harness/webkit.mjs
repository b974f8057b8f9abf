// WebKitGTK, through its own WebDriver, on a virtual screen. Automation sessions are ephemeral: what a page stores
// lasts through a reload and ends with the session.
import { spawn } from "node:child_process";
import { createServer } from "node:net";

const MINI_BROWSER = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser";
// Without a graphics card the accelerated paths only fail later.
const SOFTWARE = {
  LIBGL_ALWAYS_SOFTWARE: "1",
  WEBKIT_DISABLE_DMABUF_RENDERER: "1",
  WEBKIT_DISABLE_COMPOSITING_MODE: "1",
};
const SCRIPT_LIMIT_MS = 1_800_000;

/** Starts a screen, the driver and MiniBrowser. */
export async function launch() {
  const screen = await startScreen();
  const port = await freePort();
  const driver = spawn("WebKitWebDriver", [`--port=${port}`, "--host=127.0.0.1"], {
    env: { ...process.env, ...SOFTWARE, DISPLAY: screen.display },
    stdio: "ignore",
  });
  const endpoint = `http://127.0.0.1:${port}`;
  await answers(endpoint, driver);
  const capabilities = {
    alwaysMatch: { "webkitgtk:browserOptions": { binary: MINI_BROWSER, args: ["--automation"] } },
  };
  const { sessionId } = await call(`${endpoint}/session`, { capabilities });
  const session = `${endpoint}/session/${sessionId}`;
  await call(`${session}/timeouts`, { script: SCRIPT_LIMIT_MS, pageLoad: 300_000 });
  return {
    name: "webkit",
    native: session,
    open: (url) => openPage(session, url),
    async close() {
      await fetch(session, { method: "DELETE" }).catch(() => undefined);
      driver.kill();
      screen.stop();
    },
  };
}

async function openPage(session, url) {
  await call(`${session}/url`, { url });
  return {
    native: session,
    log: [],
    run: (script, argument) => runScript(session, script, argument),
    goto: (next) => call(`${session}/url`, { url: next }),
    reload: () => call(`${session}/refresh`, {}),
    close: () => call(`${session}/url`, { url: "about:blank" }),
  };
}

async function runScript(session, script, argument) {
  const body = `
    const [argument, done] = arguments;
    (async () => {${script}})().then(
      (value) => done({ value: value === undefined ? null : value }),
      (error) => done({ error: String((error && error.stack) || error) + " " + String(error && error.message) }),
    );`;
  const answer = await call(`${session}/execute/async`, { script: body, args: [argument ?? null] });
  if (answer?.error) throw new Error(answer.error);
  return answer?.value;
}

async function call(url, body) {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  const { value } = await response.json();
  if (!response.ok) throw new Error(`WebKitWebDriver: ${value?.error}: ${value?.message}`);
  return value;
}

/** Xvfb chooses a free display by itself and writes its number once it accepts clients. */
function startScreen() {
  const child = spawn("Xvfb", ["-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`Xvfb ended with ${code}`)));
    child.stdout.once("data", (number) => {
      resolve({ display: `:${String(number).trim()}`, stop: () => child.kill() });
    });
  });
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function answers(endpoint, driver) {
  for (;;) {
    if (driver.exitCode !== null) throw new Error(`WebKitWebDriver ended with ${driver.exitCode}`);
    const response = await fetch(`${endpoint}/status`).catch(() => undefined);
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
