import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

// The sources import the generated glue where the build puts it, which is beside the compiled sources.
const built = (file: string) => fileURLToPath(new URL(`dist/${file}`, import.meta.url));

export default defineConfig({
  plugins: [
    {
      name: "generated-files",
      enforce: "pre",
      resolveId(source) {
        const match = /^\.\.?\/(?:src\/)?((?:wasm|inline)\/.*\.js)$/.exec(source);
        return match !== null && existsSync(built(match[1] as string)) ? built(match[1] as string) : undefined;
      },
    },
  ],
  test: { include: ["test/**/*.test.ts"], testTimeout: 60_000 },
});
