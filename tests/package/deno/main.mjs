import * as burrow from "burrow-memory";
import * as langgraph from "burrow-memory/langgraph";

import { langgraphScenario, scenario } from "./scenario.mjs";

const report = await scenario(burrow);
await langgraphScenario(langgraph);
console.log(JSON.stringify(report));
