// One line that says how things stand: the model, where it runs, and whether memories are kept.
import { byId, element } from "./dom.js";

/** Draws the line from the store's own account of itself. */
export async function showStatus(burrow) {
  const { items, storage, model, worker, build } = await burrow.stats();
  const parts = [
    ["Memories", String(items)],
    [
      "Kept",
      storage.durable ? "in this browser" : `until this page closes${storage.reason ? `: ${storage.reason}` : ""}`,
    ],
    ["Model", [model?.id, model?.precision].filter(Boolean).join(" ")],
    ["Engine", `${model?.engine ?? "none"}, ${build.wasm}`],
    ["Runs", worker.runs === "worker" ? "beside the page" : "in the page"],
  ];
  byId("status").replaceChildren(
    ...parts.map(([name, value]) => element("span", {}, `${name} `, element("b", { textContent: value }))),
  );
}
