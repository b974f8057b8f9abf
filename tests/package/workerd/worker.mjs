import * as burrow from "burrow-memory";
import * as langgraph from "burrow-memory/langgraph";
import module from "burrow-memory/wasm/burrow_bg.wasm";

import { check, langgraphScenario, scenario } from "./scenario.mjs";

export default {
  async fetch() {
    try {
      const report = await scenario(burrow);
      const given = await scenario(burrow, { wasm: module });
      check(given.wasm === "custom", "a module that the application imported is taken", given);
      await langgraphScenario(langgraph);
      return Response.json(report);
    } catch (error) {
      return new Response(String(error.stack), { status: 500 });
    }
  },
};
