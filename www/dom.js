// Building and finding elements. Text is always set as text: a memory is never HTML.

import { say } from "./words.js";

/** The element with an id. */
export const byId = (id) => document.getElementById(id);

/** An element with properties and children. */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Shows below a form what went wrong: what to do in plain words, and what the program said for whoever wants it. */
export function showProblem(id, error) {
  const place = byId(id);
  place.hidden = error === undefined;
  place.replaceChildren();
  if (error === undefined) return;
  const { problems, otherProblem, details } = say();
  place.append(element("p", { textContent: problems[error.code] ?? otherProblem }));
  if (error.code === "aborted") return;
  const said = `${error.message ?? error}${error.code ? ` (${error.code})` : ""}`;
  place.append(element("details", {}, element("summary", { textContent: details }), said));
}

/** Runs what a form or button asks for, once at a time, and shows what went wrong. */
export function onAction(target, event, problem, action) {
  target.addEventListener(event, async (happened) => {
    happened.preventDefault();
    const button = target.matches("button") ? target : target.querySelector("button[type=submit]");
    button.disabled = true;
    showProblem(problem);
    try {
      await action(happened);
    } catch (error) {
      console.error(error);
      showProblem(problem, error);
    } finally {
      button.disabled = false;
    }
  });
}
