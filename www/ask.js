// Searching by meaning, with scores.
import { byId, element, onAction } from "./dom.js";

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

function showHits(hits, milliseconds) {
  byId("took").textContent =
    hits.length === 0 ? "There is nothing to find yet." : `Best first, found in ${milliseconds.toFixed(0)} ms`;
  byId("hits").replaceChildren(...hits.map(hit));
}

function hit({ namespace, value, score, truncated }) {
  const meter = element("meter", { min: 0, max: 1, value: Math.max(0, score) });
  meter.setAttribute("aria-label", "similarity");
  const place = `${namespace.slice(1).join(" / ")}, ${value.kind}${truncated ? ", only its beginning is searched" : ""}`;
  return element(
    "li",
    { className: "hit" },
    element("p", { textContent: value.text }),
    meter,
    element(
      "div",
      { className: "score" },
      element("span", { textContent: place }),
      element("span", { textContent: score.toFixed(4) }),
    ),
  );
}
