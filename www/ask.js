// Searching by meaning, with scores.
import { byId, element, onAction } from "./dom.js";
import { namesOf } from "./place.js";
import { kindName, say } from "./words.js";

let burrow;

/** Wires the form once. */
export function wireAsk() {
  onAction(byId("ask"), "submit", "ask-problem", async () => {
    const started = performance.now();
    const page = await burrow.search(["memories"], { query: byId("query").value, limit: 5 });
    showHits(page.items, performance.now() - started);
  });
}

/** Begins anew on a store that was just opened. */
export function showAsk(opened, language) {
  burrow = opened;
  byId("query").value = "";
  byId("query").placeholder = language.question;
  byId("hits").replaceChildren();
  byId("took").textContent = "";
}

/** Takes an item out of the answers that are shown: it was forgotten. */
export function dropHit({ key }) {
  for (const shown of document.querySelectorAll(".hit")) if (shown.dataset.key === key) shown.remove();
}

function showHits(hits, milliseconds) {
  byId("took").textContent = hits.length === 0 ? say().nothing : say().found(milliseconds.toFixed(0));
  byId("hits").replaceChildren(...hits.map(hit));
}

function hit({ namespace, key, value, score, truncated }) {
  const meter = element("meter", { min: 0, max: 1, value: Math.max(0, score) });
  meter.setAttribute("aria-label", say().similarity);
  const place = [namesOf(namespace), kindName(value.kind), ...(truncated ? [say().cut] : [])].join(" · ");
  const shown = element(
    "li",
    { className: "hit" },
    element("p", { textContent: value.text }),
    meter,
    element(
      "div",
      { className: "score" },
      element("span", { textContent: place }),
      element("span", { textContent: `${say().similarity} ${score.toFixed(4)}` }),
    ),
  );
  shown.dataset.key = key;
  return shown;
}
