/** Asks the service worker to do its part and reports what it says. */
const answered = new Promise((resolve) => {
  navigator.serviceWorker.addEventListener("message", ({ data }) => resolve(data), { once: true });
});

async function ask() {
  await navigator.serviceWorker.register("/service-worker.js", { type: "module" });
  const { active } = await navigator.serviceWorker.ready;
  active.postMessage("run");
  return answered;
}

globalThis.outcome = ask().catch((error) => ({ error: String(error.stack) }));
