// One face for three browsers: `launch(name)` gives { name, open(url), close() }, and a page has
// { run(script, argument), goto, reload, close, log }.

const LAUNCHERS = {
  chromium: () => import("./chromium.mjs"),
  firefox: () => import("./firefox.mjs"),
  webkit: () => import("./webkit.mjs"),
};

export const NAMES = Object.keys(LAUNCHERS);

/** Starts one browser by name; `quota` limits what a site may keep, where the browser can be told. */
export async function launch(name, options) {
  const load = LAUNCHERS[name];
  if (!load) throw new Error(`no browser "${name}"; there are ${NAMES.join(", ")}`);
  return (await load()).launch(options);
}
