// Adding memories, and the list of them by what they are about.
import { dropHit } from "./ask.js";
import { byId, element, onAction } from "./dom.js";
import { namesOf, toLabel } from "./place.js";
import { kindName, say } from "./words.js";

const ROOT = "memories";
const PAGE = 200;

let burrow;
let language;
let changed = () => undefined;

/** Wires the form once. `onChange` runs after each change. */
export function wireMemories(onChange) {
  changed = onChange;
  onAction(byId("add"), "submit", "add-problem", async () => {
    await remember(byId("about").value.trim(), byId("kind").value, byId("text").value.trim());
    byId("text").value = "";
    byId("text").focus();
    await refresh();
  });
  onAction(byId("examples"), "click", "add-problem", async () => {
    // One batch: all of the examples or none, and their texts are embedded together. Their keys are their own, so that
    // asking twice does not make two of each.
    await burrow.batch(language.examples.map(([about, kind, text], i) => put(about, kind, text, `example-${i}`)));
    await refresh();
  });
}

/** Shows the memories of a store that was just opened. */
export async function showMemories(opened, chosen) {
  burrow = opened;
  language = chosen;
  byId("about").value = chosen.about;
  await refresh();
}

function put(about, kind, text, key = crypto.randomUUID()) {
  return { op: "put", namespace: [ROOT, toLabel(about)], key, value: { kind, text } };
}

async function remember(about, kind, text) {
  const { namespace, key, value } = put(about, kind, text);
  await burrow.put(namespace, key, value);
}

async function refresh() {
  const namespaces = await burrow.listNamespaces({ prefix: [ROOT] });
  const groups = await Promise.all(
    namespaces.map(async (namespace) => [namespace, await burrow.search(namespace, { limit: PAGE })]),
  );
  byId("memories").replaceChildren(...groups.map(([namespace, page]) => group(namespace, page)));
  byId("known").replaceChildren(...namespaces.map((namespace) => element("option", { value: namesOf(namespace) })));
  const count = groups.reduce((sum, [, page]) => sum + page.items.length, 0);
  byId("count").textContent = count === 0 ? say().noneYet : String(count);
  await changed();
}

function group(namespace, page) {
  const list = element("ul", { className: "memories" }, ...page.items.map(memory));
  const more = page.hasMore ? [element("p", { className: "hint", textContent: say().newest(PAGE) })] : [];
  return element("div", {}, element("h3", { textContent: namesOf(namespace) }), list, ...more);
}

const when = (date) => date.toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });

function memory(item) {
  const forget = element("button", { className: "quiet", type: "button", textContent: say().forget });
  forget.setAttribute("aria-label", `${say().forget}: ${item.value.text}`);
  onAction(forget, "click", "add-problem", async () => {
    const at = [...document.querySelectorAll(".memory button")].indexOf(forget);
    await burrow.delete(item.namespace, item.key);
    dropHit(item);
    await refresh();
    // The button is gone: whoever works by keyboard goes on at the next one.
    const left = document.querySelectorAll(".memory button");
    (left[Math.min(at, left.length - 1)] ?? byId("text")).focus();
  });
  const text = element(
    "div",
    {},
    element("p", { textContent: item.value.text }),
    element("span", { className: "tag", textContent: `${kindName(item.value.kind)} · ${when(item.createdAt)}` }),
  );
  return element("li", { className: "memory" }, text, forget);
}
