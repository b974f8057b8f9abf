/** The LangGraph entry for workerd. */
import "./workerd.js";

export * from "./langgraph.js";
