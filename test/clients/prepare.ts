/**
 * Installs the clients that are too large to be dependencies. `bun run test` starts it first, in parallel with the other suites,
 * so that nothing has to wait for it later. Tests whose client is not there by then install it themselves.
 */
import { largeClients } from "./installed.ts";

for (const install of Object.values(largeClients)) await install();
