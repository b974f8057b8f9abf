// When the first vector is there, counted from the start of the navigation.

const TEXT = "The user loves sushi and is allergic to peanuts.";

export function report(first) {
  const given = Object.fromEntries(new URLSearchParams(location.search));
  globalThis.outcome = first({ ...given, text: TEXT }).then(
    ({ vector, cached }) => ({ ms: performance.now(), numbers: vector.length, cached }),
    (error) => ({ error: String(error.stack ?? error) }),
  );
}
