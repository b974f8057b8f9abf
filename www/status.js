// One sentence or two that say how things stand: whether memories are kept, and what finds them.
import { byId } from "./dom.js";
import { say } from "./words.js";

/** Says it from the store's own account of itself. */
export async function showStatus(burrow) {
  const { items, storage, model, worker } = await burrow.stats();
  const words = say();
  const sentences = [storage.durable ? words.kept(items) : words.forgetful(items)];
  // A model's id ends in its precision and a checksum, which are for programs.
  if (model) sentences.push(words.here(model.id.replace(/-(int8|f32)-[0-9a-f]+$/, "")));
  if (worker.runs !== "worker") sentences.push(words.slow);
  byId("status").textContent = sentences.join(document.documentElement.lang === "en" ? " " : "");
}
