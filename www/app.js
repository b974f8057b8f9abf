// The demo: choose a language, write memories, ask. Each part has a file of its own.
import { showAsk, wireAsk } from "./ask.js";
import { byId } from "./dom.js";
import { showMemories, wireMemories } from "./memories.js";
import { setUp } from "./setup.js";
import { showStatus } from "./status.js";

let current;

wireMemories(() => showStatus(current));
wireAsk();
setUp(async (burrow, language) => {
  current = burrow;
  byId("workspace").hidden = false;
  showAsk(burrow, language);
  await showMemories(burrow, language);
});
