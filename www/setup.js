// Choosing a language and opening the store, with progress.
import { Burrow } from "burrow-memory";
import { byId, element, showProblem } from "./dom.js";
import { LANGUAGES, rememberedLanguage, rememberLanguage } from "./languages.js";

const PHASES = {
  download: "Fetching the model",
  verify: "Checking the model",
  compile: "Preparing the model",
  vouch: "Comparing both engines",
  storage: "Opening the store",
  index: "Reading memories",
  reindex: "Reading memories anew",
};

/** Draws the choices; calls `opened(burrow, language)` each time a store is open. */
export function setUp(opened) {
  const chosen = rememberedLanguage();
  for (const [code, language] of Object.entries(LANGUAGES))
    byId("choices").append(choice(code, language, chosen ?? "en"));
  byId("setup").addEventListener("submit", (event) => {
    event.preventDefault();
    start(new FormData(event.target).get("language"), opened);
  });
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

async function start(code, opened) {
  const { database, embed } = LANGUAGES[code];
  busy(true);
  showProblem("setup-problem");
  try {
    await current?.close();
    current = undefined;
    current = await Burrow.open({ name: database, index: { embed, fields: ["text"] }, onProgress: showProgress });
    rememberLanguage(code);
    await opened(current, LANGUAGES[code]);
  } catch (error) {
    console.error(error);
    // What is shown belongs to a store that was closed.
    byId("workspace").hidden = true;
    showProblem("setup-problem", error);
  } finally {
    busy(false);
  }
}

function busy(working) {
  byId("start").disabled = working;
  byId("progress").hidden = !working;
  byId("setup-title").textContent = working ? "One moment…" : "Which language do you write in?";
  if (working) showProgress({ phase: "storage", loaded: 0, total: 0 });
}

function showProgress({ phase, loaded, total, message }) {
  const bar = byId("bar");
  const size = phase === "download" && total > 0 ? `, ${megabytes(loaded)} of ${megabytes(total)} MB` : "";
  byId("phase").textContent = `${PHASES[phase] ?? phase}${size}${message ? `: ${message}` : "…"}`;
  // Without a value the bar shows that something goes on, not how far it is.
  if (total > 0) bar.value = loaded / total;
  else bar.removeAttribute("value");
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
