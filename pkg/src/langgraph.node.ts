/** The LangGraph entry for Node, Deno and Bun. */
import "./node.js";

export * from "./langgraph.js";
