// Adding memories, and the list of them by what they are about.
import { byId, element, onAction } from "./dom.js";

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
    // One batch: all of the examples or none, and their texts are embedded together.
    await burrow.batch(language.examples.map(([about, kind, text]) => put(about, kind, text)));
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

function put(about, kind, text) {
  return { op: "put", namespace: [ROOT, about], key: crypto.randomUUID(), value: { kind, text } };
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
  byId("known").replaceChildren(...namespaces.map((namespace) => element("option", { value: namespace.at(-1) })));
  const count = groups.reduce((sum, [, page]) => sum + page.items.length, 0);
  byId("count").textContent = count === 0 ? "none yet" : String(count);
  await changed();
}

function group(namespace, page) {
  const list = element("ul", { className: "memories" }, ...page.items.map(memory));
  const more = page.hasMore ? [element("p", { className: "hint", textContent: `the newest ${PAGE} are shown` })] : [];
  return element("div", {}, element("h3", { textContent: namespace.slice(1).join(" / ") }), list, ...more);
}

function memory(item) {
  const forget = element("button", { className: "quiet", type: "button", textContent: "Forget" });
  forget.setAttribute("aria-label", `Forget: ${item.value.text}`);
  onAction(forget, "click", "add-problem", async () => {
    await burrow.delete(item.namespace, item.key);
    await refresh();
  });
  const text = element(
    "div",
    {},
    element("p", { textContent: item.value.text }),
    element("span", { className: "tag", textContent: `${item.value.kind}, ${item.createdAt.toLocaleString()}` }),
  );
  return element("li", { className: "memory" }, text, forget);
}
