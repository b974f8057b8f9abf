/**
 * Private, on-device long-term memory for agents.
 *
 * @packageDocumentation
 */
export { Burrow } from "./burrow.js";
export { Embedder, type EmbedOptions, type LoadOptions } from "./embedder.js";
export { BurrowError, ERROR_CODES, type ErrorCode, type ErrorDetails } from "./errors.js";
export type * from "./types.js";
