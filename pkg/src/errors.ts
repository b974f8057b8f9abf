/**
 * One error class with stable codes. Everything that fails, wherever it failed (the Rust core, a worker, a download),
 * reaches the application as this class; foreign errors stay underneath as `cause`.
 */

/** Stable codes: codes are only ever added. */
export const ERROR_CODES = [
  "invalid_namespace",
  "invalid_key",
  "invalid_document",
  "invalid_filter",
  "invalid_argument",
  "no_index",
  "policy_denied",
  "needs_confirmation",
  "conflict",
  "quota_exceeded",
  "storage_unavailable",
  "storage_blocked",
  "schema_too_new",
  "corrupted",
  "model_load",
  "model_mismatch",
  "embedding",
  "aborted",
  "closed",
  "internal",
] as const;

/** What kind of failure it was. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** What a program needs to react to a failure; the fields depend on the code. */
export type ErrorDetails = Record<string, unknown>;

/** What was refused may be a megabyte long; an error that quotes it is read by people and kept in logs. */
const MAX_MESSAGE = 1000;

function clipped(message: string): string {
  return message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE)}… (${message.length} characters)`;
}

/** Every failure of this package. */
export class BurrowError extends Error {
  /** What kind of failure it was. */
  readonly code: ErrorCode;
  /** What a program needs to react: the label, the position in a batch, the HTTP status. */
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: { details?: ErrorDetails; cause?: unknown } = {}) {
    super(clipped(message), "cause" in options ? { cause: options.cause } : undefined);
    this.name = "BurrowError";
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** An error as it crosses a worker's border: structured clone would lose the class, `code` and `details`. */
export interface ErrorMessage {
  code: ErrorCode;
  message: string;
  details: ErrorDetails;
  cause?: string;
}

function isCode(code: unknown): code is ErrorCode {
  return (ERROR_CODES as readonly unknown[]).includes(code);
}

/** What an unknown thrown thing says of itself. */
export function describe(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message === "" ? thrown.name : `${thrown.name}: ${thrown.message}`;
    return String(thrown);
  } catch {
    return "something that cannot be shown"; // Any value can be thrown, also one whose `toString` throws.
  }
}

function fields(thrown: unknown): Partial<BurrowError> {
  try {
    const { name, code, details, cause } = (thrown ?? {}) as BurrowError;
    return { name, code, details, cause };
  } catch {
    return {};
  }
}

/** Makes a `BurrowError` of anything that was thrown; an abort is `aborted`, anything foreign gets `fallback`. */
export function toBurrowError(thrown: unknown, fallback: ErrorCode = "internal", message?: string): BurrowError {
  if (thrown instanceof BurrowError) return thrown;
  const { name, code, details, cause } = fields(thrown);
  if (name === "BurrowError" && isCode(code)) {
    const options: { details: ErrorDetails; cause?: unknown } = { details: details ?? {} };
    if (cause !== undefined && cause !== null) options.cause = cause;
    return new BurrowError(code, (thrown as Error).message, options);
  }
  if (name === "AbortError") return aborted(thrown);
  const own = describe(thrown);
  return new BurrowError(fallback, message === undefined ? own : `${message}: ${own}`, { cause: thrown });
}

/** The caller's signal fired; its reason is the cause. */
export function aborted(reason: unknown): BurrowError {
  return new BurrowError("aborted", "The operation was aborted", { cause: reason });
}

/** Whether a value is an `AbortSignal`, of any realm. */
export function isSignal(value: unknown): value is AbortSignal {
  if (typeof value !== "object" || value === null) return false;
  const { aborted: fired, addEventListener } = value as Partial<AbortSignal>;
  return typeof fired === "boolean" && typeof addEventListener === "function";
}

/** Throws `aborted` when the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted(signal.reason);
}

/** For the way out of a worker. */
export function encodeError(thrown: unknown): ErrorMessage {
  const error = toBurrowError(thrown);
  const message: ErrorMessage = { code: error.code, message: error.message, details: error.details };
  if (error.cause !== undefined) message.cause = typeof error.cause === "string" ? error.cause : describe(error.cause);
  return message;
}

/** For the way into the page. */
export function decodeError({ code, message, details, cause }: ErrorMessage): BurrowError {
  return new BurrowError(code, message, cause === undefined ? { details } : { details, cause });
}
