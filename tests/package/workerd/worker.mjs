import * as burrow from "burrow-memory";
import * as langgraph from "burrow-memory/langgraph";

import { langgraphScenario, scenario } from "./scenario.mjs";

export default {
  async fetch() {
    try {
      const report = await scenario(burrow);
      await langgraphScenario(langgraph);
      return Response.json(report);
    } catch (error) {
      return new Response(String(error.stack), { status: 500 });
    }
  },
};
