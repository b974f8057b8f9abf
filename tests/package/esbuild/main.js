import * as burrow from "burrow-memory";

import { report } from "./page.mjs";

report(burrow);
