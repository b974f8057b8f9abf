/**
 * Operations to the JSON that the core reads, and its answers back to what TypeScript promises. The core checks
 * meaning (labels, limits, operators); here only what JSON would lose on the way is refused.
 */
import { encodeDocument, encodeJson, isArray } from "./document.js";
import { BurrowError, describe, type ErrorCode } from "./errors.js";
import type { Item, Namespace, Operation, OperationResult, SearchPage } from "./types.js";

/** Which code a field that JSON cannot hold is refused with; anything else is `invalid_argument`. */
const FIELD_CODES: Record<string, ErrorCode> = {
  namespace: "invalid_namespace",
  prefix: "invalid_namespace",
  suffix: "invalid_namespace",
  key: "invalid_key",
  filter: "invalid_filter",
};

/** One operation as the core reads it. */
export function encodeOperation(operation: Operation): string {
  if (typeof operation !== "object" || operation === null) {
    throw new BurrowError("invalid_argument", "An operation is an object with a field `op`");
  }
  const parts: string[] = [];
  const fields = fieldsOf(operation);
  for (const [name, value] of fields) {
    if (name === "value" && value !== null) parts.push(`"value":${encodeDocument(value)}`);
    else if (value !== undefined) {
      parts.push(`${JSON.stringify(name)}:${encodeJson(value, FIELD_CODES[name] ?? "invalid_argument", name)}`);
    }
  }
  // The value must be there: a forgotten one is no deletion.
  const { op, value } = Object.fromEntries(fields);
  if (op === "put" && value === undefined) encodeDocument(undefined);
  return `{${parts.join(",")}}`;
}

/** Each field read once; what the application's own getters throw is a refusal. */
function fieldsOf(operation: Operation): [string, unknown][] {
  try {
    return Object.entries(operation);
  } catch (error) {
    throw new BurrowError("invalid_argument", `An operation cannot be read: ${describe(error)}`, { cause: error });
  }
}

/** Operations of a batch; the error says which one is bad. */
export function encodeOperations(operations: readonly Operation[]): string {
  if (!isArray(operations as unknown)) throw new BurrowError("invalid_argument", "A batch is an array of operations");
  // A hole in the array is an operation that is missing: `map` would pass over it.
  const parts = Array.from(operations, (operation: Operation, position) => {
    try {
      return encodeOperation(operation);
    } catch (error) {
      if (!(error instanceof BurrowError)) throw error;
      const { code, message, details, cause } = error;
      throw new BurrowError(code, `Operation ${position}: ${message}`, { details: { ...details, position }, cause });
    }
  });
  return `[${parts.join(",")}]`;
}

type RawItem = Omit<Item, "createdAt" | "updatedAt" | "expiresAt"> & {
  createdAt: number;
  updatedAt: number;
  expiresAt?: number | null;
};

function reviveItem({ createdAt, updatedAt, expiresAt, ...rest }: RawItem): Item {
  const item: Item = { ...rest, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
  if (typeof expiresAt === "number") item.expiresAt = new Date(expiresAt);
  return item;
}

/** The core's answer to one operation. */
export function reviveResult<O extends Operation>(operation: O, raw: unknown): OperationResult<O> {
  switch (operation.op) {
    case "get":
      return (raw === null ? null : reviveItem(raw as RawItem)) as OperationResult<O>;
    case "search": {
      const page = raw as { items: RawItem[]; hasMore: boolean };
      return { items: page.items.map(reviveItem), hasMore: page.hasMore } satisfies SearchPage as OperationResult<O>;
    }
    case "listNamespaces":
      return raw as Namespace[] as OperationResult<O>;
    default:
      return null as OperationResult<O>;
  }
}
