/** LangGraph's adapter for workerd. */
import "./workerd.js";

export * from "./langgraph.js";
