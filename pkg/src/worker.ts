/**
 * The worker's script: a store's home, a model's home, the installer, or one more encoder, as whoever started it asks.
 *
 * It imports nothing dynamically and names no address, so that bundlers can make one classic script of it. Workers of
 * its own run this same script, wherever it came from.
 */
import { EmbedHome } from "./embed_home.js";
import type { Host } from "./install.js";
import { LocalInstaller } from "./installer.js";
import { EncoderService } from "./pool.js";
import { serve } from "./rpc.js";
import type { HomeConfig } from "./service.js";
import { StoreHome } from "./store_home.js";

function spawn(): Worker {
  return new Worker(self.location.href, { type: "module", name: "burrow-memory" });
}

const services: Record<string, object> = {
  encoder: new EncoderService(),
  installer: new LocalInstaller(),
  home: {
    settle: (home: HomeConfig) => {
      const host: Host = { home, spawn: typeof Worker === "undefined" ? undefined : spawn };
      services["store"] = new StoreHome(host);
      services["embed"] = new EmbedHome(host);
    },
  },
};

serve(services);
