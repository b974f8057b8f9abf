// Building and finding elements. Text is always set as text: a memory is never HTML.

/** The element with an id. */
export const byId = (id) => document.getElementById(id);

/** An element with properties and children. */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Shows an error below the form it belongs to; nothing hides it. */
export function showProblem(id, error) {
  const place = byId(id);
  place.hidden = error === undefined;
  place.textContent = error === undefined ? "" : `${error.message ?? error}${error.code ? ` (${error.code})` : ""}`;
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
