// Calling an engine on its thread. Works in pages and in Node: it knows only how to send and how answers arrive.

/** `send` posts a message; the function given to `listen` gets each answer. */
export function caller(send, listen) {
  const waiting = new Map();
  let last = 0;
  listen(({ id, value, error }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(value);
    else reject(new Error(error));
  });
  const fail = (error) => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const call = (name, argument) =>
    new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      send({ id: last, call: name, argument });
    });
  return { call, fail };
}
