/**
 * Values to JSON text, exactly or not at all.
 *
 * `JSON.stringify` drops, replaces and calls things silently (functions vanish, NaN becomes null, `toJSON` runs); a
 * store must not. Here everything that JSON cannot hold is refused with its path, and only `undefined` fields count
 * as absent, as JavaScript objects have them everywhere. Each property is read once, so that what was checked is
 * what is stored.
 */
import { BurrowError, describe, type ErrorCode } from "./errors.js";

/** Deeper documents are refused: parsers on the way have limits, and a stack has one too. */
export const MAX_DEPTH = 100;

/** What a field name or index looks like in a path. */
function step(name: string | number): string {
  if (typeof name === "number") return `[${name}]`;
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

class Encoder {
  private readonly open = new Set<object>();
  private readonly path: string[] = [];

  constructor(
    private readonly code: ErrorCode,
    private readonly root: string,
  ) {}

  encode(value: unknown): string {
    switch (typeof value) {
      case "string":
        return this.text(value);
      case "boolean":
        return String(value);
      case "number":
        if (!Number.isFinite(value)) this.refuse(String(value));
        // JSON has a negative zero, `JSON.stringify` has not.
        return Object.is(value, -0) ? "-0" : JSON.stringify(value);
      case "object":
        return value === null ? "null" : this.nested(value);
      case "bigint":
        return this.refuse("a bigint");
      case "undefined":
        return this.refuse("undefined");
      default:
        return this.refuse(`a ${typeof value}`);
    }
  }

  private text(value: string): string {
    if (!isWellFormed(value)) this.refuse("a string with a lone surrogate");
    return JSON.stringify(value);
  }

  private nested(value: object): string {
    if (this.open.has(value)) this.refuse("a cycle");
    if (this.open.size === MAX_DEPTH) this.refuse(`more than ${MAX_DEPTH} levels of nesting`);
    this.open.add(value);
    const text = Array.isArray(value) ? this.array(value) : this.object(value);
    this.open.delete(value);
    return text;
  }

  private array(value: unknown[]): string {
    const parts: string[] = [];
    for (let index = 0; index < value.length; index++) parts.push(this.at(index, value[index]));
    return `[${parts.join(",")}]`;
  }

  private object(value: object): string {
    if (!isPlain(value)) this.refuse(kindOf(value));
    const symbol = Object.getOwnPropertySymbols(value).find((s) =>
      Object.prototype.propertyIsEnumerable.call(value, s),
    );
    if (symbol !== undefined) this.refuse("a symbol as a field name");
    const parts: string[] = [];
    for (const name of Object.keys(value)) {
      const field = (value as Record<string, unknown>)[name];
      if (field !== undefined) parts.push(`${this.text(name)}:${this.at(name, field)}`);
    }
    return `{${parts.join(",")}}`;
  }

  private at(name: string | number, value: unknown): string {
    this.path.push(step(name));
    const text = this.encode(value);
    this.path.pop();
    return text;
  }

  private refuse(what: string): never {
    const path = this.root + this.path.join("");
    throw new BurrowError(this.code, `${path} is ${what}, which JSON cannot hold`, { details: { path, found: what } });
  }
}

/** Objects of other realms (frames, test runners) have another `Object.prototype`, so it is known by its shape. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function kindOf(value: object): string {
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "an instance of a class";
}

/** A revoked proxy throws at the mere question; it is refused where it is read. */
export function isArray(value: unknown): value is unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** No half of a surrogate pair stands alone. */
export function isWellFormed(text: string): boolean {
  return !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);
}

/** Exact JSON text of a value; `root` names it in the error. */
export function encodeJson(value: unknown, code: ErrorCode, root: string): string {
  try {
    return new Encoder(code, root).encode(value);
  } catch (error) {
    if (error instanceof BurrowError) throw error;
    // A getter or a proxy of the application's threw, or the text is longer than a string can be.
    throw new BurrowError(code, `${root} cannot be read: ${describe(error)}`, {
      details: { path: root },
      cause: error,
    });
  }
}

/** Exact JSON text of a document: a plain object at the top. */
export function encodeDocument(value: unknown): string {
  if (typeof value !== "object" || value === null || isArray(value)) {
    const found = value === null ? "null" : isArray(value) ? "an array" : `a ${typeof value}`;
    throw new BurrowError("invalid_document", `A document is an object at the top, not ${found}`, {
      details: { path: "value", found },
    });
  }
  return encodeJson(value, "invalid_document", "value");
}
