import { describe, expect, it } from "vitest";

import { encodeDocument, isWellFormed, MAX_DEPTH } from "../src/document.js";
import { BurrowError } from "../src/errors.js";

function refusal(value: unknown): { code: string; path: unknown } {
  try {
    encodeDocument(value);
  } catch (error) {
    if (error instanceof BurrowError) return { code: error.code, path: error.details["path"] };
    throw error;
  }
  throw new Error("was accepted");
}

class Money {
  amount = 1;
}

describe("a document", () => {
  it.each([
    {},
    { a: 1, b: -0.5, c: "x", d: null, e: true, f: [1, [2, { g: [] }]], "": 0, ключ: "值" },
    { text: '🦡 \u2028 \u0000 "\\' },
    Object.assign(Object.create(null) as object, { a: 1 }),
  ])("is written as JSON.stringify writes it: %j", (value) => {
    expect(encodeDocument(value)).toBe(JSON.stringify(value));
  });

  it("keeps own fields called __proto__ and constructor", () => {
    const text = '{"__proto__":{"x":1},"constructor":"c","toString":2}';
    expect(encodeDocument(JSON.parse(text))).toBe(text);
  });

  it("keeps a negative zero, which JSON.stringify does not", () => {
    expect(encodeDocument({ a: -0, b: [-0, 0] })).toBe('{"a":-0,"b":[-0,0]}');
  });

  it("counts undefined fields as absent", () => {
    expect(encodeDocument({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  it("may hold the same object twice", () => {
    const shared = { x: 1 };
    expect(encodeDocument({ a: shared, b: [shared] })).toBe('{"a":{"x":1},"b":[{"x":1}]}');
  });

  it("reads each field once, so that what was checked is what is stored", () => {
    let reads = 0;
    const value = {
      get a() {
        return reads++ === 0 ? 1 : NaN;
      },
    };
    expect(encodeDocument(value)).toBe('{"a":1}');
    expect(reads).toBe(1);
  });

  const cycle: { list: unknown[] } = { list: [] };
  cycle.list.push({ back: cycle });
  it.each([
    ["a cycle", cycle, "value.list[0].back"],
    ["a function", { a: { b: () => 1 } }, "value.a.b"],
    ["a symbol", { a: [Symbol("s")] }, "value.a[0]"],
    ["a bigint", { "a b": 1n }, 'value["a b"]'],
    ["NaN", { a: NaN }, "value.a"],
    ["Infinity", { a: [0, -Infinity] }, "value.a[1]"],
    ["a Date", { at: new Date(0) }, "value.at"],
    ["a Map", { m: new Map() }, "value.m"],
    ["a class instance", { price: new Money() }, "value.price"],
    ["bytes", { b: new Uint8Array(1) }, "value.b"],
    ["undefined in a list", { a: [undefined] }, "value.a[0]"],
    ["a hole", { a: new Array(1) }, "value.a[0]"],
    ["a lone surrogate", { a: "\ud800" }, "value.a"],
    ["a lone surrogate in a name", { "\udc00": 1 }, "value"],
    ["a symbol as a name", { [Symbol("s")]: 1 }, "value"],
    ["a boxed number", { a: Object(1) as unknown }, "value.a"],
  ])("refuses %s and names its path", (_, value, path) => {
    expect(refusal(value)).toEqual({ code: "invalid_document", path });
  });

  it.each([[[]], ["text"], [1], [undefined], [new Map()], [() => 1]])("is an object at the top, not %o", (value) => {
    expect(refusal(value).code).toBe("invalid_document");
  });

  it("is nested a hundred levels deep, and no deeper", () => {
    const nested = (levels: number) => {
      let value: Record<string, unknown> = {};
      for (let level = 1; level < levels; level++) value = { v: value };
      return value;
    };
    expect(encodeDocument(nested(MAX_DEPTH))).toBe(JSON.stringify(nested(MAX_DEPTH)));
    expect(refusal(nested(MAX_DEPTH + 1)).code).toBe("invalid_document");
  });
});

describe("well-formed text", () => {
  it.each([
    ["", true],
    ["a🦡b", true],
    ["\ud83e", false],
    ["\udda1\ud83e", false],
    ["\ud83e\ud83e\udda1", false],
  ])("%j: %s", (text, expected) => expect(isWellFormed(text)).toBe(expected));
});
