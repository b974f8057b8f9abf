import * as burrow from "burrow-memory";
import wasm from "burrow-memory/wasm/burrow_bg.wasm?url";

import { report } from "./page.mjs";

report(burrow, location.search === "?url" ? { wasm } : {});
