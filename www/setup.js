// Choosing a language and opening the store, with progress.
import { Burrow } from "burrow-memory";
import { byId, element, showProblem } from "./dom.js";
import { LANGUAGES, rememberedLanguage, rememberLanguage } from "./languages.js";
import { say, speak } from "./words.js";

/** Draws the choices; calls `opened(burrow, language)` each time a store is open. */
export function setUp(opened) {
  const chosen = rememberedLanguage();
  const first = chosen ?? (navigator.language.startsWith("zh") ? "zh" : "en");
  speak(first);
  for (const [code, language] of Object.entries(LANGUAGES)) byId("choices").append(choice(code, language, first));
  byId("setup").addEventListener("submit", (event) => {
    event.preventDefault();
    start(new FormData(event.target).get("language"), opened);
  });
  byId("choices").addEventListener("change", (event) => {
    // Beside an open store the page stays in its language until that is switched.
    if (!current) speak(event.target.value);
  });
  byId("stop").addEventListener("click", () => stopping?.abort());
  if (chosen) start(chosen, opened);
}

function choice(code, language, chosen) {
  const radio = element("input", { type: "radio", name: "language", value: code, checked: code === chosen });
  return element(
    "label",
    { className: "choice", lang: code },
    radio,
    element("strong", { textContent: language.label }),
    element("small", { textContent: `${language.model}, ${language.size}` }),
  );
}

let current;
let stopping;

async function start(code, opened) {
  const { database, embed } = LANGUAGES[code];
  stopping = new AbortController();
  speak(code);
  busy(true);
  showProblem("setup-problem");
  try {
    await current?.close();
    current = undefined;
    // What is shown belongs to a store that was closed.
    byId("workspace").hidden = true;
    byId("status").textContent = "";
    const { signal } = stopping;
    const index = { embed, fields: ["text"] };
    current = await Burrow.open({ name: database, index, onProgress: showProgress, signal });
    rememberLanguage(code);
    await opened(current, LANGUAGES[code]);
  } catch (error) {
    if (error.code !== "aborted") console.error(error);
    showProblem("setup-problem", error);
  } finally {
    busy(false);
  }
}

function busy(working) {
  byId("start").disabled = working;
  byId("progress").hidden = !working;
  for (const radio of document.querySelectorAll("#choices input")) radio.disabled = working;
  byId("setup-title").textContent = working ? say().moment : say().choose;
  byId("start").textContent = current ? say().switch : say().start;
  if (working) showProgress({ phase: "storage", loaded: 0, total: 0 });
}

function showProgress({ phase, loaded, total }) {
  const bar = byId("bar");
  const size = phase === "download" && total > 0 ? say().of(megabytes(loaded), megabytes(total)) : "";
  byId("phase").textContent = `${say()[phase] ?? phase}${size}…`;
  // Without a value the bar shows that something goes on, not how far it is.
  if (total > 0) bar.value = loaded / total;
  else bar.removeAttribute("value");
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
