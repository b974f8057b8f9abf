// What a memory is about, as a label of a namespace. A name may hold what a label may not ("Dr. Lee", "10:30"), so that
// those characters are written as a percent sign and their number, as in a web address.

const REFUSED = /[%.:\0]/g;

/** A label for any name. */
export const toLabel = (name) =>
  name.replaceAll(REFUSED, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`);

/** The name that a label stands for. */
export const toName = (label) =>
  label.replaceAll(/%([0-9a-f]{2})/g, (_, number) => String.fromCharCode(Number.parseInt(number, 16)));

/** The names of a namespace below the first label. */
export const namesOf = (namespace) => namespace.slice(1).map(toName).join(" / ");
