// What @hey-api/openapi-ts makes of the contract: one class with a field per tag, exact types, dates that are dates.

import { defineConfig } from "@hey-api/openapi-ts";

export default defineConfig({
  input: "openapi.json",
  output: { path: "src", importFileExtension: ".js" },
  plugins: [
    "@hey-api/client-fetch",
    "@hey-api/typescript",
    { name: "@hey-api/transformers", dates: true },
    {
      name: "@hey-api/sdk",
      transformer: true,
      operations: { strategy: "single", containerName: "Gatewright", nesting: "operationId" },
    },
  ],
});
