/** The entry for workerd (Cloudflare Workers): WebAssembly can only be imported there, and tract is too large for it. */

import { setPlatform } from "./compile.js";
import module from "./wasm/burrow_relaxed_bg.wasm";

setPlatform({
  burrow: { module, build: "relaxed-simd" },
  noInstaller: "Models cannot be installed on this host: make a pack beforehand and give it as `pack`",
});

export * from "./index.js";
