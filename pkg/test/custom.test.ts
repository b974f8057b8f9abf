import { describe, expect, it } from "vitest";

import { customEmbed } from "../src/custom.js";
import { BurrowError } from "../src/errors.js";

const abort = () => Promise.reject(new DOMException("too slow", "AbortError"));

describe("an application's embedder", () => {
  it("that gives up by itself has failed; only the caller aborts", async () => {
    const embed = customEmbed(abort);
    await expect(embed?.(["a"], "query")).rejects.toMatchObject({ code: "embedding", message: /too slow/ });
    await expect(embed?.(["a"], "query", new AbortController().signal)).rejects.toMatchObject({ code: "embedding" });
    const signal = AbortSignal.abort("enough");
    await expect(embed?.(["a"], "query", signal)).rejects.toMatchObject({ code: "aborted", cause: "enough" });
  });

  it("keeps a code that it throws by itself", async () => {
    const embed = customEmbed(() => Promise.reject(new BurrowError("policy_denied", "no")));
    await expect(embed?.(["a"], "query")).rejects.toMatchObject({ code: "policy_denied" });
  });
});
